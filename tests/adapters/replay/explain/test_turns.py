from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import pytest

from tests.adapters.driver.test_sync import PLAN, SUM, add
from tests.samples import worked
from toolreel._driver import (
    InstantClock,
    Ports,
    Resting,
    Run,
    ServerAddress,
    outcome_in_words,
    run,
)
from toolreel._replay import CallSummary, TurnSummary, Underway, story
from toolreel.testing import Line, Lost, ScriptedEndpoint, calling, saying
from toolreel.tools import PythonTools, ToolError
from toolreel_core._conversation import AssistantMessage, SentCall, ToolMessage, UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    AskApproval,
    BudgetSpent,
    CancelRequested,
    ConversationSpent,
    FailureKind,
    InvalidReply,
    Outcome,
    RequestSent,
    RunTool,
    TransportFailed,
)
from toolreel_core._settings import LoopConfig


def told(*script: Line, plan: Plan = PLAN) -> tuple[TurnSummary, ...]:
    return story(ended(*script, plan=plan))


def ended(*script: Line, plan: Plan = PLAN) -> Run:
    ports = Ports(ScriptedEndpoint(script), PythonTools([add, divide]), clock=InstantClock())
    return run(plan, ports)


def divide(a: int, b: int) -> float:
    """Divide."""
    if not b:
        raise ToolError("b must not be 0.")
    return a / b


BOTH = Plan.of(model="m", messages="Go.", tools=PythonTools([add, divide]).surface)


def test_a_run_is_told_turn_by_turn() -> None:
    run = ended(*SUM)
    sent = [note for note in run.notes if isinstance(note, RequestSent)]
    call = CallSummary("add", '{"a":2,"b":40}', "structured", True, '{"value":42}')
    assert story(run) == (TurnSummary(1, 1, sent[0].digest, calls=(call,)), TurnSummary(2, 3, sent[1].digest))


def test_a_call_that_failed_says_why() -> None:
    (turn, _) = told(calling(("divide", {"a": 1, "b": 0}), ("add", {"a": 1, "b": 2})), saying("3"), plan=BOTH)
    assert turn.calls == (
        CallSummary("divide", '{"a":1,"b":0}', "structured", False, "ARGUMENT_ERROR: b must not be 0."),
        CallSummary("add", '{"a":1,"b":2}', "structured", True, '{"value":3}'),
    )


def test_what_was_mended_and_stripped_is_told() -> None:
    body = canonical(calling(("add", {"a": 2, "b": 40}), text="Let me add them."))
    turn, _ = told(body.replace('"finish_reason":"tool_calls"', '"finish_reason":"stop"'), saying("42"))
    mended, stripped = turn.remarks
    assert mended.startswith("FINISH_MISMATCH: ")
    assert stripped == "the text with the calls is not stored (16 characters)"
    assert [call.name for call in turn.calls] == ["add"]


def test_calls_written_as_text_are_told_with_their_dialect() -> None:
    plan = Plan.of(
        model="m", messages="Go.", tools=PLAN.tools, config=LoopConfig(text_dialects=("hermes_json",))
    )
    text = '<tool_call>{"name":"add","arguments":{"a":1,"b":2}}</tool_call>'
    turn, _ = told(saying(text), saying("3"), plan=plan)
    assert [(call.name, call.provenance) for call in turn.calls] == [("add", "text:hermes_json")]


def test_the_tries_of_a_turn_are_told_in_it() -> None:
    first, second = told(Lost("status", "HTTP 503: busy", 503), *SUM)
    assert first.remarks == ("no reply: status 503", "try 1 failed, the next follows after 713 ms")
    assert (len(first.calls), second.remarks) == (1, ())


def test_a_run_that_rests_is_told_as_far_as_it_has_come() -> None:
    guarded = replace(PLAN.tools.definitions[0], needs_approval=True)
    (turn,) = told(SUM[0], plan=Plan.of(model="m", messages="Go.", tools=[guarded]))
    assert (turn.calls, turn.remarks) == ((), ("add needs approval",))


def test_a_run_that_was_cancelled_at_once_has_one_turn() -> None:
    underway = Underway(PLAN)
    underway.take_event(None, CancelRequested())
    assert [turn.number for turn in story(underway.run)] == [1]


def test_what_was_said_before_the_run_is_no_turn_of_it() -> None:
    before = (
        UserMessage("What is 1 + 1?"),
        AssistantMessage("", (SentCall("call_0", "add", '{"a":1,"b":1}'),)),
        ToolMessage("call_0", '{"ok":true}'),
        AssistantMessage("2"),
        UserMessage("And 2 + 40?"),
    )
    plan = Plan.of(model="m", messages=before, tools=PLAN.tools)
    first, second = told(*SUM, plan=plan)
    assert (first.messages, second.messages) == (5, 7)
    assert [call.arguments for call in first.calls] == ['{"a":2,"b":40}']


URL = "http://127.0.0.1:8080/v1"
THERE = ServerAddress(URL)


@pytest.mark.parametrize(
    ("outcome", "words", "hint"),
    [
        (
            InvalidReply("INVALID_BODY", "<html>"),
            "the reply could not be used (INVALID_BODY): <html>",
            f"is the base URL ({URL}) that of an OpenAI-compatible server?",
        ),
        (
            Resting((AskApproval(2, "call_a", "wipe", canonical({})),)),
            "wipe({}) needs approval",
            "go on with `toolreel resume`, run.approve() or run.deny(reason)",
        ),
        (
            BudgetSpent("tokens", 2e6, 1e6),
            "the budget of tokens is used up: 2,000,000 of 1,000,000",
            "raise the limit: set max_total_tokens=4000000",
        ),
        (
            ConversationSpent("turns", 10, 9),
            "the conversation has used up its turns: 10 of 9",
            "raise the limit: set max_conversation_turns=20; or begin a new conversation",
        ),
    ],
)
def test_an_outcome_is_told_with_what_to_do_about_it(
    outcome: Outcome | Resting, words: str, hint: str
) -> None:
    assert outcome_in_words(outcome, THERE)[:2] == (words, hint)


def test_the_rule_of_a_run_that_rests_fits_whatever_it_waits_for() -> None:
    asks = AskApproval(3, "call_a", "f", canonical({})), RunTool(3, "call_a", "f", canonical({}), "k")
    rules = {outcome_in_words(Resting((effect,))).rule for effect in asks}
    assert rules == {"a run rests until everything that it asked for has an answer"}


@pytest.mark.parametrize(("status", "message", "hint"), worked("the remedy of a status", "runs-and-plans"))
def test_an_http_status_has_a_remedy(status: int, message: str, hint: str) -> None:
    outcome = TransportFailed("status", status, f"HTTP {status}: {message}")
    assert outcome_in_words(outcome, THERE)[:2] == (f"HTTP {status}: {message}", hint)


def test_a_key_that_was_not_accepted_is_named_by_its_variable() -> None:
    outcome = TransportFailed("status", 401, "No.")
    hint = f"the key in API_KEY was not accepted: is it the right one for {URL}?"
    assert outcome_in_words(outcome, ServerAddress(URL, "API_KEY")).hint == hint


@pytest.mark.parametrize("kind", get_args(Outcome), ids=lambda kind: kind.name)
def test_every_outcome_has_its_words(kind: Any) -> None:  # noqa: ANN401 - a class of the union
    plain = {int: 2, float: 2.0, str: "x", tuple[str, ...]: ("x",)}
    hints = get_type_hints(kind)
    given = {each.name: plain.get(hints[each.name]) or get_args(hints[each.name])[0] for each in fields(kind)}
    words = outcome_in_words(kind(**given), THERE)
    assert words.sentence
    assert "{" not in str(words)
    assert all(hasattr(LoopConfig(), name) for name in words.settings)


def test_every_kind_of_failure_has_a_remedy() -> None:
    hints = {outcome_in_words(TransportFailed(kind, None, ""), THERE).hint for kind in get_args(FailureKind)}
    assert len(hints) == len(get_args(FailureKind))
    assert "" not in hints
