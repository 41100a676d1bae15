from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given

from tests.strategies import messages
from toolreel_core._conversation import (
    AssistantMessage,
    Form,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    Written,
    wire,
    written,
)
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse
from toolreel_core._settings import Provider

CALL = SentCall("a", "ping", "{}")
CALLED: dict[str, Json] = {"id": "a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
CALLING = AssistantMessage("", (CALL,))
SAID = AssistantMessage("It is 4.")
OTHERS: tuple[Message, ...] = (SystemMessage("s"), UserMessage("u"), ToolMessage("a", "{}", "ping"))


def spoken(content: str = "", /, *calls: SentCall, **extras: Json) -> AssistantMessage:
    """What the model said, with fields of the provider's own."""
    return AssistantMessage(content, calls, canonical(extras))


def sent(message: Message, **settings: str | bool) -> tuple[Tree, tuple[str, ...]]:
    """A message as such a provider gets it, and the settings that changed it."""
    out = written(message, Form(Provider.of(settings)))
    return cast("Tree", parse(out.text)), out.quirks


def tree_of(message: Message) -> Tree:
    return cast("Tree", parse(wire(message)))


@given(messages)
def test_a_message_is_written_as_it_is_where_nothing_is_known_of_the_provider(message: Message) -> None:
    assert written(message, Form()) == Written(wire(message))
    assert type(written(message, Form()).text) is JsonText


@pytest.mark.parametrize("message", OTHERS)
def test_only_what_the_model_said_has_quirks(message: Message) -> None:
    odd = Provider(
        tool_turn_content="null",
        reasoning_field="thoughts",
        reasoning_required_on="all_assistant",
        signature_channel="extra_content",
        special_token_guard=True,
    )
    assert written(message, Form(odd)) == Written(wire(message))


@pytest.mark.parametrize(
    ("style", "content", "quirks"),
    [
        ("empty", {"content": ""}, ()),
        ("null", {"content": None}, ("tool_turn_content",)),
        ("omit", {}, ("tool_turn_content",)),
        ("space", {"content": " "}, ("tool_turn_content",)),
    ],
)
def test_the_content_beside_calls_is_what_the_provider_takes(
    style: str, content: dict[str, Json], quirks: tuple[str, ...]
) -> None:
    told = {"role": "assistant", **content, "tool_calls": [CALLED]}
    assert sent(CALLING, tool_turn_content=style) == (told, quirks)


@pytest.mark.parametrize(
    ("style", "rest"), [("null", {"content": None}), ("omit", {}), ("empty", {"content": "\n"})]
)
def test_blank_content_beside_calls_counts_as_none(style: str, rest: dict[str, Json]) -> None:
    told, _ = sent(spoken("\n", CALL), tool_turn_content=style)
    assert told == {"role": "assistant", **rest, "tool_calls": [CALLED]}


@pytest.mark.parametrize(
    "message",
    [SAID, AssistantMessage(""), spoken("Let me see.", CALL), spoken("", CALL, content=[{"text": "x"}])],
)
@pytest.mark.parametrize("style", ["null", "omit", "space"])
def test_content_that_says_something_or_stands_alone_stays(message: AssistantMessage, style: str) -> None:
    assert sent(message, tool_turn_content=style) == (tree_of(message), ())


@pytest.mark.parametrize(
    ("came", "wanted", "goes"),
    [
        ("reasoning", "reasoning_content", "reasoning_content"),
        ("reasoning_content", "reasoning", "reasoning"),
        ("reasoning_content", "reasoning_content", "reasoning_content"),
        ("reasoning", "", "reasoning"),
        ("reasoning_details", "reasoning", "reasoning_details"),
    ],
)
def test_reasoning_goes_back_in_the_field_that_the_provider_reads(came: str, wanted: str, goes: str) -> None:
    told = {"role": "assistant", "content": "It is 4.", goes: "2 + 2"}
    quirks = ("reasoning_field",) if goes != came else ()
    assert sent(spoken("It is 4.", **{came: "2 + 2"}), reasoning_field=wanted) == (told, quirks)


@pytest.mark.parametrize(
    ("required", "message", "is_missing"),
    [
        ("none", CALLING, False),
        ("none", SAID, False),
        ("tool_turns", CALLING, True),
        ("tool_turns", SAID, False),
        ("all_assistant", CALLING, True),
        ("all_assistant", SAID, True),
    ],
)
@pytest.mark.parametrize("placeholder", ["", " "])
def test_a_placeholder_stands_where_reasoning_is_required_and_there_is_none(
    required: str, message: AssistantMessage, is_missing: bool, placeholder: str
) -> None:
    told, quirks = sent(message, reasoning_required_on=required, reasoning_placeholder=placeholder)
    missing = {"reasoning_content": placeholder} if is_missing else {}
    assert told == {**tree_of(message), **missing}
    assert quirks == (("reasoning_required_on",) if is_missing else ())


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_that_is_there_needs_no_placeholder_whichever_field_it_came_in(field: str) -> None:
    message = spoken("", CALL, **{field: "Hm."})
    assert sent(message, reasoning_required_on="tool_turns") == (tree_of(message), ())


@pytest.mark.parametrize("nothing", [None, ""])
def test_reasoning_of_null_is_none(nothing: Json) -> None:
    message = spoken("", CALL, reasoning_content=nothing)
    told, quirks = sent(message, reasoning_required_on="tool_turns", reasoning_placeholder=" ")
    assert (told["reasoning_content"], quirks) == (" ", ("reasoning_required_on",))


def test_the_placeholder_stands_in_the_field_that_the_provider_reads() -> None:
    told, quirks = sent(SAID, reasoning_required_on="all_assistant", reasoning_field="reasoning")
    assert told == {"role": "assistant", "content": "It is 4.", "reasoning": ""}
    assert quirks == ("reasoning_required_on",)


DUMMY: dict[str, Json] = {"google": {"thought_signature": "skip_thought_signature_validator"}}
SIGNED = canonical({"extra_content": {"google": {"thought_signature": "Ev8B"}}})


def test_the_first_call_of_a_foreign_step_gets_the_documented_placeholder() -> None:
    second = SentCall("b", "ping", "{}")
    told, quirks = sent(AssistantMessage("", (CALL, second)), signature_channel="extra_content")
    assert told["tool_calls"] == [{**CALLED, "extra_content": DUMMY}, {**CALLED, "id": "b"}]
    assert quirks == ("signature_channel",)


@pytest.mark.parametrize(
    "extras",
    [
        SIGNED,
        canonical({"extra_content": {"vertex": {"thought_signature": "Ev8B"}}}),
        canonical({"thought_signature": "Ev8B"}),
        canonical({"function": {"provider_specific_fields": {"thought_signature": "Ev8B"}}}),
    ],
)
def test_a_step_that_is_signed_anywhere_goes_back_as_it_came(extras: JsonText) -> None:
    for calls in ((SentCall("a", "ping", "{}", extras), CALL), (CALL, SentCall("b", "ping", "{}", extras))):
        message = AssistantMessage("", calls)
        assert sent(message, signature_channel="extra_content") == (tree_of(message), ())


def test_calls_that_are_none_are_left_alone() -> None:
    odd = spoken("", CALL, tool_calls=["?", 1])
    assert sent(odd, signature_channel="extra_content") == (tree_of(odd), ())
    mixed = spoken("", CALL, tool_calls=[{}, 1])
    told, _ = sent(mixed, signature_channel="extra_content")
    assert told["tool_calls"] == [{}, 1]


TEXT: Json = {"type": "reasoning.text", "format": "google-gemini-v1", "text": "Hm."}
LOCKED: Json = {"type": "reasoning.encrypted", "format": "google-gemini-v1", "data": "ZZ"}
ANTHROPIC: Json = {"type": "reasoning.text", "format": "anthropic-claude-v1", "text": "Hm.", "signature": "s"}


def test_of_what_gemini_thought_openrouter_gets_back_only_what_is_encrypted() -> None:
    message = spoken("", CALL, reasoning_details=[TEXT, LOCKED, ANTHROPIC, {"type": "reasoning.text"}, 3])
    told, quirks = sent(message, signature_channel="reasoning_details")
    assert told["reasoning_details"] == [LOCKED, ANTHROPIC, {"type": "reasoning.text"}, 3]
    assert quirks == ("signature_channel",)


@pytest.mark.parametrize("details", [[LOCKED], [], "Hm.", None, {"a": 1}])
def test_details_without_open_thoughts_of_gemini_go_back_as_they_came(details: Json) -> None:
    message = spoken("", CALL, reasoning_details=details)
    assert sent(message, signature_channel="reasoning_details") == (tree_of(message), ())
