from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings import PART_SETTINGS, Provider, WireForm, form_of


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


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id_style": "Kimi"}, "id_style: expected one of keep, openai, kimi, alnum9, got 'Kimi'"),
        (
            {"max_tokens_field": None},
            'max_tokens_field: expected one of "", max_tokens, max_completion_tokens, got None',
        ),
        ({"supports_tool": "no"}, "there is no setting 'supports_tool'; did you mean 'supports_tools'?"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(
    changes: Mapping[str, Any], why: str
) -> None:
    assert complaint(ConfigError, lambda: Provider.of(changes)) == why


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


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("https://api.anthropic.com/v1/messages?beta=true", "messages"),
        ("http://127.0.0.1:8080/v1/responses/", "responses"),
        ("http://127.0.0.1:8080/v1/chat/completions", "chat_completions"),
        ("http://127.0.0.1:8080/v1/models", "chat_completions"),
    ],
)
def test_the_path_says_the_form(url: str, form: WireForm) -> None:
    assert form_of(url) == form


def test_a_form_sets_what_it_decides_and_leaves_what_was_given() -> None:
    assert Provider(wire_form="messages").single_leading_system
    assert Provider(wire_form="messages").images_in_tool_results == "yes"
    assert Provider(wire_form="messages", images_in_tool_results="no").images_in_tool_results == "no"
    assert Provider() == Provider(wire_form="chat_completions")
    assert Provider.of(Provider(wire_form="messages").changes()) == Provider(wire_form="messages")
