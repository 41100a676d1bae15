"""Findings compared with a preset."""

from __future__ import annotations

from tests.preset_values import preset
from toolreel_core._probe import Setting, compared

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
    rows = compared(FOUND, SHIPPED)
    assert [(row.standing, row.key) for row in rows] == [
        ("differs", "provider.id_style"),
        ("added", "provider.assistant_after_tool"),
        ("added", "config.text_dialects"),
        ("agrees", "provider.supports_tools"),
        ("not_probed", "provider.thinking"),
    ]
    assert (rows[0].preset, rows[0].probed, rows[0].because) == ("kimi", "alnum9", "call_ids")


def test_dialects_are_shown_by_the_word_for_those_that_are_marked() -> None:
    [row] = [row for row in compared(FOUND, SHIPPED) if row.key == "config.text_dialects"]
    assert row.preset == ["marked"]
