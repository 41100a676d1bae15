from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings import PART_SETTINGS, Provider

SUPPORT = ("yes", "no", "unknown")
TEXTS = ("name", "reasoning_field", "reasoning_placeholder")
SWITCHES = (
    "thinking",
    "pin_upstream",
    "drop_empty_assistant",
    "assistant_after_tool",
    "single_leading_system",
    "tool_result_name",
    "special_token_guard",
)
CHOICES: dict[str, tuple[str, ...]] = {
    "wire_form": ("chat_completions", "responses", "messages"),
    "supports_tools": SUPPORT,
    "supports_parallel_tool_calls": SUPPORT,
    "supports_required": SUPPORT,
    "supports_required_while_thinking": SUPPORT,
    "supports_response_format": SUPPORT,
    "supports_json_schema": SUPPORT,
    "supports_response_format_with_tools": SUPPORT,
    "supports_stream_options": SUPPORT,
    "supports_images": SUPPORT,
    "supports_audio": SUPPORT,
    "supports_files": SUPPORT,
    "images_in_tool_results": SUPPORT,
    "reports_cost": SUPPORT,
    "reasoning_replay": ("verbatim", "current_turn", "never"),
    "reasoning_required_on": ("none", "tool_turns", "all_assistant"),
    "signature_channel": ("none", "extra_content", "reasoning_details"),
    "tool_turn_content": ("empty", "null", "omit", "space"),
    "id_style": ("keep", "openai", "kimi", "alnum9"),
    "schema_transform": ("none", "inline_defs", "gemini_subset", "strip_strict"),
    "max_tokens_field": ("", "max_tokens", "max_completion_tokens"),
    "temperature_rule": ("free", "drop", "max1"),
}


def test_every_setting_is_tried_here() -> None:
    assert {item.name for item in fields(Provider)} == {*TEXTS, *SWITCHES, *CHOICES}


def test_the_defaults_are_these_for_ever_since_records_leave_them_out() -> None:
    assert asdict(Provider()) == {
        "name": "",
        "wire_form": "chat_completions",
        "supports_tools": "unknown",
        "supports_parallel_tool_calls": "unknown",
        "supports_required": "unknown",
        "supports_required_while_thinking": "unknown",
        "supports_response_format": "unknown",
        "supports_json_schema": "unknown",
        "supports_response_format_with_tools": "unknown",
        "supports_stream_options": "unknown",
        "supports_images": "unknown",
        "supports_audio": "unknown",
        "supports_files": "unknown",
        "images_in_tool_results": "unknown",
        "reports_cost": "unknown",
        "thinking": False,
        "reasoning_field": "",
        "reasoning_replay": "verbatim",
        "reasoning_required_on": "none",
        "reasoning_placeholder": "",
        "signature_channel": "none",
        "pin_upstream": False,
        "tool_turn_content": "empty",
        "drop_empty_assistant": True,
        "assistant_after_tool": False,
        "single_leading_system": False,
        "tool_result_name": False,
        "id_style": "keep",
        "schema_transform": "none",
        "max_tokens_field": "",
        "temperature_rule": "free",
        "special_token_guard": False,
    }


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in CHOICES for value in CHOICES[key]])
def test_each_word_of_a_choice_is_taken(key: str, value: str) -> None:
    assert getattr(Provider.of({key: value}), key) == value


@pytest.mark.parametrize("key", CHOICES)
@pytest.mark.parametrize("value", ["Yes", None, True, []])
def test_any_other_word_is_refused_with_those_that_are_taken(key: str, value: object) -> None:
    words = ", ".join(word or '""' for word in CHOICES[key])
    assert complaint(ConfigError, lambda: Provider.of({key: value})) == (
        f"{key}: expected one of {words}, got {value!r}"
    )


@pytest.mark.parametrize("key", TEXTS)
def test_a_text_is_a_text(key: str) -> None:
    assert Provider.of({key: "é"}).changes() == {key: "é"}
    assert complaint(ConfigError, lambda: Provider.of({key: 3})) == f"{key}: expected a text, got 3"


@pytest.mark.parametrize("key", SWITCHES)
def test_a_switch_is_true_or_false(key: str) -> None:
    assert complaint(ConfigError, lambda: Provider.of({key: "no"})) == (
        f"{key}: expected true or false, got 'no'"
    )


def test_a_setting_that_does_not_exist_is_told_with_the_nearest_that_does() -> None:
    assert complaint(ConfigError, lambda: Provider.of({"supports_tool": "no"})) == (
        "there is no setting 'supports_tool'; did you mean 'supports_tools'?"
    )


def test_the_changes_of_a_provider_make_it_again() -> None:
    kimi = Provider(name="moonshot", id_style="kimi", thinking=True)
    assert kimi.changes() == {"name": "moonshot", "thinking": True, "id_style": "kimi"}
    assert Provider.of(kimi.changes()) == kimi
    assert Provider().changes() == {}


@pytest.mark.parametrize(
    ("known", "requires"),
    [
        ({}, False),
        ({"supports_required": "yes"}, True),
        ({"supports_required": "no"}, False),
        ({"supports_required": "yes", "thinking": True}, False),
        ({"supports_required_while_thinking": "yes"}, False),
        ({"supports_required_while_thinking": "yes", "thinking": True}, True),
    ],
)
def test_a_call_is_forced_only_where_that_is_known_to_work(known: Mapping[str, Any], requires: bool) -> None:
    assert Provider.of(known).requires_calls() is requires


def test_an_option_that_not_all_providers_take_has_its_own_setting() -> None:
    provider = Provider(
        supports_parallel_tool_calls="no", supports_response_format="unknown", supports_stream_options="yes"
    )
    options = ("parallel_tool_calls", "response_format", "stream_options", "temperature")
    assert [provider.support(option) for option in options] == ["no", "unknown", "yes", "yes"]
    assert Provider().support("stream_options") == "unknown"


def test_parts_are_taken_unless_they_are_known_not_to_be() -> None:
    provider = Provider(supports_images="no", supports_audio="unknown", supports_files="yes")
    assert (provider.takes("images"), provider.takes("audio"), provider.takes("files")) == (False, True, True)
    assert set(PART_SETTINGS) < {item.name for item in fields(Provider)}
