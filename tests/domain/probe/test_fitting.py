"""From answers to findings, and from findings to settings, in the cases that no profile shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.preset_values import preset
from tests.probes import decided_settings, select_questions, worked
from toolreel.probe import probe_catalogue_rules
from toolreel_core._probe import (
    Finding,
    Known,
    Probing,
    Setting,
    Word,
    compare_with_preset,
    observed_findings,
    preset_tree,
)
from toolreel_core._protocol import ReplyReceived


def finding(name: str, word: str, detail: str = "", *words: tuple[str, int]) -> Finding:
    return Finding(name, "basics", word, detail, (1,), words)


def decided(*findings: Finding) -> dict[str, Any]:
    return {each.key: each.value for each in decided_settings(findings)}


@pytest.mark.parametrize(("words", "expected"), worked("setting"))
def test_findings_decide_settings(words: dict[str, str], expected: dict[str, Any]) -> None:
    assert decided(*(finding(name, word, f"{word} (1)") for name, word in words.items())) == expected


def test_control_tokens_are_read_as_such_if_they_are_far_fewer() -> None:
    def guard(real: str, fake: str) -> object:
        found = decided(
            finding("control_tokens", "counted", real), finding("texts_like_them", "counted", fake)
        )
        return found.get("special_token_guard")

    assert guard("104 tokens of prompt", "124 tokens of prompt") is True
    assert guard("120 tokens of prompt", "124 tokens of prompt") is False
    assert guard("no tokens", "124 tokens of prompt") is None
    assert decided(finding("control_tokens", "unclear")) == {}


def test_what_is_not_stable_settles_nothing() -> None:
    assert decided(finding("tools", "called", "", ("called", 2), ("answered", 1))) == {}


def test_a_preset_has_only_what_differs_from_the_defaults() -> None:
    given = (
        Setting("provider", "id_style", "keep", "call_ids"),
        Setting("provider", "max_tokens_field", "max_tokens", "max_tokens"),
    )
    tree = preset_tree(given, "As probed.", "2026-11-23", ["a probe"])
    assert tree["provider"] == {"max_tokens_field": "max_tokens"}
    assert tree["because"] == {"max_tokens_field": "max_tokens"}
    assert set(preset_tree((), "As probed.", "2026-11-23", [])) == {"about", "evidence", "verified_on"}


def test_a_temperature_that_was_refused_is_not_sent() -> None:
    assert Known({"temperature": "refused"}).common_options(16) == {"max_tokens": 16}
    assert Known(reasoning="reasoning").common_options(16) == {"max_tokens": 256, "temperature": 0}
    refused: dict[str, Word] = {"max_tokens": "refused", "max_completion_tokens": "refused"}
    assert Known(refused).common_options(16) == {"temperature": 0}


SHIPPED = preset(
    provider={"name": "lab", "id_style": "kimi", "supports_tools": "yes", "thinking": True},
    config={"max_turns": 4},
)
FOUND = (
    Setting("provider", "supports_tools", "yes", "tools"),
    Setting("provider", "id_style", "alnum9", "call_ids"),
    Setting("provider", "assistant_after_tool", True, "user_after_tool"),
    Setting("provider", "tool_turn_content", "empty", "tool_turn"),
    Setting("config", "text_dialects", ["marked", "react"], "text_calls"),
)


def test_what_differs_comes_first_and_what_no_probe_decides_is_left_out() -> None:
    rows = compare_with_preset(FOUND, SHIPPED, probe_catalogue_rules())
    assert [(row.standing, row.key) for row in rows] == [
        ("differs", "provider.id_style"),
        ("added", "provider.assistant_after_tool"),
        ("added", "config.text_dialects"),
        ("agrees", "provider.supports_tools"),
        ("not_probed", "provider.thinking"),
    ]
    # One word stands for the dialects that are marked.
    assert rows[2].preset == ["marked"]
    assert (rows[0].preset, rows[0].probed, rows[0].because) == ("kimi", "alnum9", "call_ids")


@pytest.mark.parametrize(("choice", "found"), worked("seen"))
def test_what_a_reply_shows_beside_its_answer(choice: dict[str, Any], found: dict[str, str | None]) -> None:
    """The form of its ids, its stop reason, its signatures."""
    probing = Probing("m", select_questions(("plain",)))
    assert probing.ask is not None
    seen = observed_findings(
        probing.with_answer(probing.ask, ReplyReceived(1, 200, json.dumps({"choices": [choice]})))
    )
    words = {each.name: each.word for each in seen}
    assert {name: words.get(name) for name in found} == found
