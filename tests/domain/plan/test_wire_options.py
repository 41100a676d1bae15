from __future__ import annotations

import json

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._loop import start
from toolreel_core._plan import MAX_TOKENS, Plan, is_unsaid, options_in, words_in
from toolreel_core._protocol import OptionIgnored, SendRequest, Step
from toolreel_core._settings import Provider, WireForm

PING: dict[str, Json] = {
    "type": "function",
    "function": {"name": "ping", "description": "Pings.", "parameters": {"type": "object"}},
}
SEARCH: dict[str, Json] = {"type": "web_search_20250305", "name": "web_search"}
SCHEMA: dict[str, Json] = {"type": "object", "properties": {}}
FORMAT: dict[str, Json] = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
}


def messages(**options: Json) -> Json:
    return {key: value for key, value in options_in("messages", options).items() if key != "max_tokens"}


def responses(**options: Json) -> Json:
    return {key: value for key, value in options_in("responses", options).items() if key != "store"}


def test_options_of_chat_completions_are_as_they_are() -> None:
    options: dict[str, Json] = {"max_tokens": 3, "seed": 4}
    assert options_in("chat_completions", options) is options
    assert not is_unsaid("chat_completions", "seed")


@pytest.mark.parametrize(
    ("said", "in_messages"),
    [
        (
            {"tools": [PING]},
            {"tools": [{"name": "ping", "description": "Pings.", "input_schema": {"type": "object"}}]},
        ),
        ({"tools": [SEARCH]}, {"tools": [SEARCH]}),
        (
            {"tools": [{"function": {"name": "a"}}]},
            {"tools": [{"name": "a", "input_schema": {"type": "object"}}]},
        ),
        ({"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
        ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
        ({"tool_choice": {"function": {"name": "ping"}}}, {"tool_choice": {"type": "tool", "name": "ping"}}),
        ({"tool_choice": "of its own"}, {}),
        ({"tool_choice": 3}, {}),
        ({"parallel_tool_calls": True}, {}),
        (
            {"tool_choice": "required", "parallel_tool_calls": False},
            {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        ),
        (
            {"parallel_tool_calls": False, "tool_choice": "required"},
            {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        ),
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"stop": ["A", "B"]}, {"stop_sequences": ["A", "B"]}),
        ({"user": "u1"}, {"metadata": {"user_id": "u1"}}),
        (
            {"reasoning_effort": "low", "response_format": FORMAT},
            {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}},
        ),
        ({"response_format": {"type": "json_object"}}, {}),
        ({"seed": 4, "n": 1, "stream_options": {}, "verbosity": "low"}, {}),
        ({"thinking": {"type": "enabled"}, "top_k": 4}, {"thinking": {"type": "enabled"}, "top_k": 4}),
    ],
)
def test_options_in_words_of_messages(said: dict[str, Json], in_messages: Json) -> None:
    assert messages(**said) == in_messages


@pytest.mark.parametrize(
    ("said", "limit"),
    [({}, MAX_TOKENS), ({"max_tokens": 7}, 7), ({"max_completion_tokens": 8}, 8)],
)
def test_messages_need_an_output_limit(said: dict[str, Json], limit: int) -> None:
    assert options_in("messages", said)["max_tokens"] == limit


@pytest.mark.parametrize(
    ("said", "in_responses"),
    [
        (
            {"tools": [PING, SEARCH]},
            {
                "tools": [
                    {
                        "type": "function",
                        "strict": False,
                        "name": "ping",
                        "description": "Pings.",
                        "parameters": {"type": "object"},
                    },
                    SEARCH,
                ]
            },
        ),
        ({"tool_choice": "required"}, {"tool_choice": "required"}),
        (
            {"tool_choice": {"function": {"name": "ping"}}},
            {"tool_choice": {"type": "function", "name": "ping"}},
        ),
        ({"max_tokens": 7}, {"max_output_tokens": 7}),
        ({"max_completion_tokens": 7}, {"max_output_tokens": 7}),
        ({"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
        (
            {"response_format": FORMAT, "verbosity": "low"},
            {
                "text": {
                    "format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True},
                    "verbosity": "low",
                }
            },
        ),
        ({"response_format": {"type": "json_object"}}, {"text": {"format": {"type": "json_object"}}}),
        ({"parallel_tool_calls": False, "user": "u1"}, {"parallel_tool_calls": False, "user": "u1"}),
        ({"stop": "END", "seed": 4}, {}),
    ],
)
def test_options_in_words_of_responses(said: dict[str, Json], in_responses: Json) -> None:
    assert responses(**said) == in_responses


def test_the_server_keeps_nothing_unless_it_is_told_to() -> None:
    assert options_in("responses", {})["store"] is False
    assert options_in("responses", {"store": True})["store"] is True


def begun(form: WireForm, **overrides: Json) -> Step:
    return start(Plan.of(model="m", messages="hi", provider=Provider(wire_form=form), overrides=overrides))


def body_of(at: Step) -> str:
    (effect,) = at.effects
    assert isinstance(effect, SendRequest)
    return effect.request.body


@pytest.mark.parametrize(("form", "key"), [("responses", "input"), ("messages", "system")])
def test_overrides_of_what_a_form_says_itself_are_ignored_and_noted(form: WireForm, key: str) -> None:
    at = begun(form, **{key: "x"})
    assert body_of(at) == body_of(begun(form))
    assert OptionIgnored(key, "reserved") in at.notes


@pytest.mark.parametrize(
    ("form", "overrides"),
    [
        ("messages", {"cache_control": {"type": "ephemeral"}}),
        ("messages", {"thinking": {"type": "enabled", "budget_tokens": 1_024}}),
        ("responses", {"previous_response_id": "resp_1", "store": True}),
        ("responses", {"include": ["reasoning.encrypted_content"]}),
    ],
)
def test_overrides_that_only_one_form_has_go_out_with_every_request(
    form: WireForm, overrides: dict[str, Json]
) -> None:
    assert overrides.items() <= json.loads(body_of(begun(form, **overrides))).items()


def test_words_alone_add_nothing() -> None:
    assert words_in("chat_completions", {"max_tokens": 9}) == {"max_tokens": 9}
    assert words_in("messages", {"stop": "END"}) == {"stop_sequences": ["END"]}
    assert words_in("responses", {"max_tokens": 9}) == {"max_output_tokens": 9}
