"""The profiles of the quirky provider, each with the preset that fits, written before the first probe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.servers.quirky_provider import Profile

PROFILES: Final[Mapping[str, Profile]] = {
    "openai": Profile(max_tokens="refused", temperature_above=-1, responses=True),
    "deepseek": Profile(
        thinks="reasoning_content",
        reasoning_back="tool_turns",
        required="refused",
        parallel_flag="ignored",
        json_schema="refused",
        max_completion_tokens="ignored",
        images="refused",
    ),
    "deepseek_r1": Profile(
        thinks="reasoning_content",
        reasoning_back="refused",
        tools="refused",
        json_schema="refused",
        images="refused",
    ),
    "mistral": Profile(
        nine_letter_ids=True,
        user_after_tool=False,
        max_completion_tokens="refused",
        stream_options="refused",
        format_beside_tools="refused",
        status=422,
    ),
    "ollama": Profile(
        contents_refused=frozenset({"null"}),
        parallel_flag="ignored",
        required="ignored",
        format_beside_tools="held",
        max_completion_tokens="ignored",
        images="refused",
        reads_control_tokens=True,
    ),
    "vllm": Profile(
        systems="one_first", format_beside_tools="held", images="refused", reads_control_tokens=True
    ),
    "llama_cpp": Profile(
        dialect="json_fenced",
        required="ignored",
        systems="one_first",
        format_beside_tools="held",
        images="refused",
        reads_control_tokens=True,
        status=500,
    ),
    "gemini": Profile(
        keywords=False,
        signatures="extra_content",
        signature_required=True,
        parallel_flag="refused",
        format_beside_tools="refused",
        result_images="ignored",
    ),
    "moonshot": Profile(
        thinks="reasoning_content",
        reasoning_back="tool_turns",
        required="refused",
        parallel_flag="ignored",
        kimi_ids=True,
        temperature_above=-1,
        images="refused",
    ),
    "openrouter": Profile(
        thinks="reasoning", signatures="reasoning_details", cost=True, result_images="honoured"
    ),
    "chat_only": Profile(tools="refused", status=404),
    "bedrock": Profile(contents_refused=frozenset({'""', "absent"}), temperature_above=1.0, refs=False),
    "picky": Profile(
        contents_refused=frozenset({'""', "null", "absent"}), strict=False, json_object="refused"
    ),
    "named_results": Profile(result_name_required=True, json_schema="ignored", stream_options="ignored"),
    "strict_thinker": Profile(thinks="reasoning_content", reasoning_back="all"),
    "calls_in_thoughts": Profile(dialect="hermes_in_reasoning", required="ignored"),
    "anthropic": Profile(chat=False, messages=True, result_images="honoured", sealed="honoured"),
    "anthropic_both": Profile(
        messages=True, result_images="honoured", sealed="honoured", json_schema="ignored"
    ),
    "local_messages": Profile(
        chat=False,
        messages=True,
        sealed="ignored",
        required="ignored",
        images="refused",
        reads_control_tokens=True,
    ),
    "openai_reasoning": Profile(
        responses=True, sealed="honoured", temperature_above=-1, result_images="honoured"
    ),
    "responses_only": Profile(chat=False, responses=True, systems="one_first", status=422),
    "no_model_here": Profile(chat=False),
}

_ALL: Final[Mapping[str, Any]] = {
    "supports_tools": "yes",
    "supports_parallel_tool_calls": "yes",
    "supports_required": "yes",
    "supports_response_format": "yes",
    "supports_json_schema": "yes",
    "supports_response_format_with_tools": "yes",
    "supports_stream_options": "yes",
    "supports_images": "yes",
    "images_in_tool_results": "no",
}
"""What a server without quirks supports; pictures in results, no public one does."""

_THINKS: Final[Mapping[str, Any]] = {
    "thinking": True,
    "supports_required_while_thinking": "no",
    "reasoning_field": "reasoning_content",
    "reasoning_required_on": "tool_turns",
    "reasoning_placeholder": " ",
}


def _preset(*without: str, config: Mapping[str, Any] | None = None, **provider: Any) -> dict[str, Any]:  # noqa: ANN401
    kept = {key: value for key, value in _ALL.items() if key not in without}
    sections: dict[str, Any] = {"provider": {**kept, **provider}}
    return sections | ({"config": config} if config else {})


_NOT_IN_RESPONSES: Final = ("supports_stream_options", "images_in_tool_results")
_NOT_IN_MESSAGES: Final = (*_NOT_IN_RESPONSES, "supports_response_format")

EXPECTED: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai": _preset(max_tokens_field="max_completion_tokens", temperature_rule="drop"),
    "deepseek": _preset(
        "supports_required",
        "images_in_tool_results",
        **_THINKS,
        supports_parallel_tool_calls="no",
        supports_json_schema="no",
        supports_response_format_with_tools="no",
        supports_images="no",
        max_tokens_field="max_tokens",
    ),
    "deepseek_r1": {
        "provider": {
            "supports_tools": "no",
            "supports_response_format": "yes",
            "supports_json_schema": "no",
            "supports_stream_options": "yes",
            "supports_images": "no",
            "thinking": True,
            "reasoning_replay": "never",
        }
    },
    "mistral": _preset(
        supports_response_format_with_tools="no",
        supports_stream_options="no",
        max_tokens_field="max_tokens",
        id_style="alnum9",
        assistant_after_tool=True,
    ),
    "ollama": _preset(
        "images_in_tool_results",
        supports_parallel_tool_calls="no",
        supports_required="no",
        supports_response_format_with_tools="no",
        supports_images="no",
        max_tokens_field="max_tokens",
        special_token_guard=True,
    ),
    "vllm": _preset(
        "images_in_tool_results",
        supports_response_format_with_tools="no",
        supports_images="no",
        single_leading_system=True,
        special_token_guard=True,
    ),
    "llama_cpp": _preset(
        "supports_tools",
        "supports_parallel_tool_calls",
        "supports_response_format_with_tools",
        "images_in_tool_results",
        supports_required="no",
        supports_images="no",
        single_leading_system=True,
        special_token_guard=True,
        config={"text_dialects": ["marked", "json_fenced"], "constrained_calls": "response_format"},
    ),
    "gemini": _preset(
        "images_in_tool_results",
        supports_parallel_tool_calls="no",
        supports_response_format_with_tools="no",
        signature_channel="extra_content",
        schema_transform="gemini_subset",
    ),
    "moonshot": _preset(
        "supports_required",
        "images_in_tool_results",
        **_THINKS,
        supports_parallel_tool_calls="no",
        supports_images="no",
        id_style="kimi",
        temperature_rule="drop",
    ),
    "openrouter": _preset(
        "supports_required",
        thinking=True,
        supports_required_while_thinking="yes",
        images_in_tool_results="yes",
        signature_channel="reasoning_details",
        pin_upstream=True,
        reports_cost="yes",
    ),
    "chat_only": {
        "provider": {
            "supports_tools": "no",
            "supports_response_format": "yes",
            "supports_json_schema": "yes",
            "supports_stream_options": "yes",
            "supports_images": "yes",
        }
    },
    "bedrock": _preset(tool_turn_content="null", temperature_rule="max1", schema_transform="inline_defs"),
    "picky": _preset(
        supports_response_format="no", tool_turn_content="space", schema_transform="strip_strict"
    ),
    "named_results": _preset("supports_stream_options", supports_json_schema="no", tool_result_name=True),
    "strict_thinker": _preset(
        "supports_required",
        **{**_THINKS, "supports_required_while_thinking": "yes", "reasoning_required_on": "all_assistant"},
    ),
    "calls_in_thoughts": _preset(
        "supports_tools",
        "supports_parallel_tool_calls",
        "supports_response_format_with_tools",
        "supports_required",
        thinking=True,
        supports_required_while_thinking="no",
        config={"dialects_in_reasoning": True},
    ),
    # What a form has no word for, or decides itself, is not asked in it and not set.
    "anthropic": _preset(*_NOT_IN_MESSAGES, wire_form="messages"),
    "anthropic_both": _preset(*_NOT_IN_MESSAGES, wire_form="messages", supports_json_schema="no"),
    "local_messages": _preset(
        *_NOT_IN_MESSAGES,
        wire_form="messages",
        supports_required="no",
        supports_images="no",
        special_token_guard=True,
    ),
    "openai_reasoning": {
        **_preset(*_NOT_IN_RESPONSES, wire_form="responses", temperature_rule="drop"),
        "request_overrides": {"include": ["reasoning.encrypted_content"]},
    },
    # Pictures in results: the form takes them, this server does not.
    "responses_only": _preset("supports_stream_options", wire_form="responses", single_leading_system=True),
    "no_model_here": {},
}
"""What each profile's preset has to be; settings that stay at their defaults are not in it."""
