"""``toolreel explain``: why recorded runs ended as they did, and what happened in a turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.replay.sessions import cassette
from toolreel._cli import explain_command
from toolreel._replay import rule_of, sent_history
from toolreel_core._conversation import AssistantMessage, Message, SystemMessage, Transcript, UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Request, RequestOptions
from toolreel_core._protocol import outcome as outcomes
from toolreel_core._settings import LoopConfig


def asked(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(explain_command, [str(path), *arguments])


def told(path: Path, *arguments: str) -> dict[str, Any]:
    result = asked(path, *arguments, "--json")
    assert result.exit_code == 0, result.output
    tree: dict[str, Any] = json.loads(result.stdout)
    return tree


def test_the_rule_is_named_with_its_settings_and_the_event_that_it_judged() -> None:
    result = asked(cassette("empty-final"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "outcome     empty_final: the model ended with neither text nor a call",
        "rule        a reply with neither text nor a call is not an answer",
        "            fix_empty_final = False",
        "decided     upon event 5, turn 3: reply: EMPTY_RESPONSE",
    ]
    assert "            RunSettled: outcome empty_final" in lines
    assert "hint        ask again, or try another model" in lines
    assert [line.split()[1] for line in lines if line.startswith("turn ")] == ["1", "1", "2", "2", "3"]


def test_a_turn_is_shown_with_what_was_sent_and_what_was_decided() -> None:
    result = asked(cassette("recovered"), "--turn", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("sent        ")
    assert "stored messages" in result.stdout
    assert "CallStarted: " in result.stdout
    turn = told(cassette("recovered"), "--turn", "2")
    assert {event["turn"] for event in turn["events"]} == {2}
    assert json.loads(turn["events"][0]["reply"])["choices"]


def test_a_turn_that_the_run_does_not_have_is_a_mistake() -> None:
    result = asked(cassette("empty-final"), "--turn", "9")
    assert result.exit_code == 2
    assert "the run has 3 turns" in result.stderr


HISTORY: tuple[Message, ...] = (SystemMessage("be brief"), UserMessage("one"), AssistantMessage("two"))


def request(*messages: Message, reminder: str = "") -> Request:
    return Request("m", Transcript.of(messages), RequestOptions(canonical({})), reminder)


def test_what_is_sent_as_it_is_stored_is_no_difference() -> None:
    found = sent_history(HISTORY, request(*HISTORY))
    assert (found.stored, found.sent) == (3, 3)
    assert (found.changed, found.left_out, found.added) == ((), (), ())


def test_messages_that_were_changed_left_out_and_added_are_told_apart() -> None:
    found = sent_history(
        HISTORY, request(SystemMessage("be long"), AssistantMessage("two"), reminder="hurry")
    )
    ((number, (change,)),) = found.changed
    assert (number, change.place, change.old, change.new) == (1, "content", '"be brief"', '"be long"')
    assert found.left_out == (2,)
    assert [json.loads(message)["content"] for message in found.added] == ["hurry"]


@pytest.mark.parametrize(
    ("outcome", "config", "settings"),
    [
        (
            outcomes.Completed("x"),
            LoopConfig(tool_use_mode="enforced"),
            ("tool_use_mode", "tool_failure_policy"),
        ),
        (
            outcomes.ToolFailed(("x",)),
            LoopConfig(tool_failure_policy="tolerated"),
            ("tool_use_mode", "tool_failure_policy"),
        ),
        (outcomes.BudgetSpent("time", 2, 1), LoopConfig(), ("max_wall_ms",)),
        (outcomes.ConversationSpent("cost", 2, 1), LoopConfig(), ("max_conversation_cost",)),
        (outcomes.InvalidReply("NO_CHOICES", ""), LoopConfig(), ("accept_suspected_calls", "text_dialects")),
    ],
)
def test_a_rule_names_settings_that_there_are(
    outcome: outcomes.Outcome, config: LoopConfig, settings: tuple[str, ...]
) -> None:
    found = rule_of(outcome, config)
    assert found.settings == settings
    assert all(hasattr(config, name) for name in found.settings)
