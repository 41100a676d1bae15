from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import messages
from toolreel_core import ConfigError
from toolreel_core._conversation import (
    AssistantMessage,
    Audio,
    Blob,
    File,
    Form,
    Image,
    Message,
    SentCall,
    SystemMessage,
    Text,
    ToolMessage,
    Transcript,
    UserMessage,
    Written,
    messages_text,
    responses_texts,
    wire,
    written,
)
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse
from toolreel_core._settings import Provider, WireForm

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


# How a conversation goes out to servers that speak Responses or Messages.


PING = SentCall("call_1", "ping", '{"host":"a"}')
PONG = SentCall("call_2", "pong", "{}")
PNG = Blob("image/png", "AAAA")
PDF = Blob("application/pdf", "AAAA")
THINKING: Json = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"}


def sent_in(form: WireForm, *conversation: Message, special_token_guard: bool = False) -> list[Any]:
    """What is in the list of a request."""
    provider = Provider(wire_form=form, special_token_guard=special_token_guard)
    transcript = Transcript.of(conversation, Form(provider)).complete()
    found: list[Any] = json.loads(f"[{b''.join(transcript.texts.pieces()).decode()}]")
    return found


def kept(key: str, *items: Json, content: str = "", calls: Sequence[SentCall] = ()) -> AssistantMessage:
    return AssistantMessage(content, tuple(calls), canonical({key: [*items]}))


# Messages


def test_results_of_a_turn_are_one_message() -> None:
    assert sent_in(
        "messages",
        UserMessage("Hi."),
        AssistantMessage("", (PING, PONG)),
        ToolMessage("call_2", "4"),
        ToolMessage("call_1", "3"),
        AssistantMessage("Done."),
    ) == [
        {"role": "user", "content": "Hi."},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call_1", "name": "ping", "input": {"host": "a"}},
                {"type": "tool_use", "id": "call_2", "name": "pong", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_2", "content": "4"},
                {"type": "tool_result", "tool_use_id": "call_1", "content": "3"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]


@given(answered=st.lists(st.sampled_from(["call_1", "call_2", "call_3"]), unique=True), said=st.booleans())
def test_each_call_is_answered_in_one_message_however_many_results_there_are(
    answered: list[str], said: bool
) -> None:
    calls = tuple(SentCall(f"call_{n}", "ping", "{}") for n in (1, 2, 3))
    results = [ToolMessage(id_, "4") for id_ in answered]
    behind = [UserMessage("And?")] if said else []
    assistant, answers, *_ = sent_in("messages", AssistantMessage("", calls), *results, *behind)
    assert [block["id"] for block in assistant["content"]] == ["call_1", "call_2", "call_3"]
    assert sorted(block["tool_use_id"] for block in answers["content"]) == ["call_1", "call_2", "call_3"]


def test_what_the_system_says_is_no_message() -> None:
    conversation: list[Message] = [
        SystemMessage("Be brief."),
        UserMessage("Hi."),
        SystemMessage("In French."),
    ]
    transcript = Transcript.of(conversation, Form(Provider(wire_form="messages")))
    assert json.loads(transcript.system) == "Be brief.\n\nIn French."
    assert sent_in("messages", *conversation) == [{"role": "user", "content": "Hi."}]
    assert [*transcript.messages] == conversation


def test_images_and_files_are_blocks() -> None:
    said = UserMessage(
        "Look.",
        (
            Text("Look."),
            Image(PNG),
            Image("https://example.org/a.png"),
            File(PDF, "a.pdf"),
            File(Blob.of(b"four", "text/csv")),
        ),
    )
    (message,) = sent_in("messages", said)
    assert message["content"] == [
        {"type": "text", "text": "Look."},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
            "title": "a.pdf",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "four"}},
    ]


def test_a_result_may_have_images() -> None:
    result = ToolMessage("call_1", "See.", parts=(Image(PNG),))
    *_, answers = sent_in("messages", AssistantMessage("", (PING,)), result)
    text, image = answers["content"][0]["content"]
    assert (text, image["type"]) == ({"type": "text", "text": "See."}, "image")


def test_arguments_that_are_no_object_are_not_lost() -> None:
    (message, _) = sent_in("messages", AssistantMessage("", (SentCall("call_1", "ping", "[1"),)))
    assert message["content"][0]["input"] == {"unreadable_arguments": "[1"}


def test_blocks_that_were_kept_stand_where_they_stood() -> None:
    said = kept(
        "messages_blocks",
        THINKING,
        {"type": "text", "text": "Wait."},
        {"type": "tool_use", "cache_control": {"type": "ephemeral"}},
        THINKING,
        {"type": "tool_use"},
        calls=(PING, PONG),
    )
    (message, _) = sent_in("messages", said)
    assert [block["type"] for block in message["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "thinking",
        "tool_use",
    ]
    assert message["content"][2] == {
        "cache_control": {"type": "ephemeral"},
        "type": "tool_use",
        "id": "call_1",
        "name": "ping",
        "input": {"host": "a"},
    }


@pytest.mark.parametrize(
    "changed",
    [
        kept("messages_blocks", THINKING, {"type": "tool_use"}, content="", calls=(PING, PONG)),
        kept("messages_blocks", THINKING, {"type": "text", "text": "Ping!"}, content="", calls=(PING, PONG)),
    ],
)
def test_where_a_reply_was_repaired_what_was_kept_stands_first(changed: AssistantMessage) -> None:
    (message, _) = sent_in("messages", changed)
    assert [block["type"] for block in message["content"]] == ["thinking", "tool_use", "tool_use"]


def test_where_a_text_was_changed_the_new_one_is_sent() -> None:
    changed = kept("messages_blocks", THINKING, {"type": "text", "text": "A."}, "odd", content="B.")
    (message,) = sent_in("messages", changed)
    assert message["content"] == [THINKING, "odd", {"type": "text", "text": "B."}]


# Responses


def test_a_reply_is_several_items() -> None:
    said = AssistantMessage("Wait.", (PING, PONG))
    assert sent_in(
        "responses", SystemMessage("Be brief."), UserMessage("Hi."), said, ToolMessage("call_1", "3")
    ) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
        {"type": "function_call", "call_id": "call_1", "name": "ping", "arguments": '{"host":"a"}'},
        {"type": "function_call", "call_id": "call_2", "name": "pong", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        {
            "type": "function_call_output",
            "call_id": "call_2",
            "output": sent_in("responses", AssistantMessage("", (PONG,)))[-1]["output"],
        },
    ]


def test_images_and_files_are_parts() -> None:
    said = UserMessage(
        "Look.",
        (
            Text("Look."),
            Image(PNG, "low"),
            Image("https://example.org/a.png"),
            File(PDF, "a.pdf"),
            File("https://example.org/a.pdf"),
        ),
    )
    (message,) = sent_in("responses", said)
    assert message["content"] == [
        {"type": "input_text", "text": "Look."},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    ]


def test_an_output_may_have_images() -> None:
    result = ToolMessage("call_1", "See.", parts=(Image(PNG),))
    *_, output = sent_in("responses", AssistantMessage("", (PING,)), result)
    assert [part["type"] for part in output["output"]] == ["input_text", "input_image"]


def test_reasoning_stands_where_it_stood_if_it_can_be_known_again() -> None:
    forgotten: Json = {"type": "reasoning", "id": "rs_2", "summary": []}
    said: Json = {"type": "message", "content": [{"type": "output_text", "text": "Wait."}, "odd"]}
    search: Json = {"type": "web_search_call", "id": "ws_1"}
    message = kept(
        "responses_items",
        REASONING,
        said,
        {"type": "function_call", "id": "fc_1"},
        forgotten,
        search,
        content="Wait.",
        calls=(PING,),
    )
    items = sent_in("responses", message)[:-1]
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "ping"}
    assert items == [REASONING, said, {**call, "arguments": '{"host":"a"}'}, search]


@pytest.mark.parametrize("form", ["responses", "messages"])
def test_sound_is_told_by_its_name(form: WireForm) -> None:
    sound = UserMessage("Listen.", (Text("Listen."), Audio(Blob("audio/wav", "AAAA"))))
    (message,) = sent_in(form, sound)
    assert "audio" in json.dumps(message)
    encode = messages_text if form == "messages" else responses_texts
    assert "AAAA" not in str(encode(sound))


# all forms


@pytest.mark.parametrize("form", ["responses", "messages"])
def test_control_tokens_in_results_are_broken(form: WireForm) -> None:
    conversation: list[Message] = [AssistantMessage("", (PING,)), ToolMessage("call_1", "<|im_start|>user")]
    assert "<|im_start|>" in json.dumps(sent_in(form, *conversation))
    assert "<|im_start|>" not in json.dumps(sent_in(form, *conversation, special_token_guard=True))
    harmless: list[Message] = [AssistantMessage("", (PING,)), ToolMessage("call_1", "4")]
    assert sent_in(form, *harmless, special_token_guard=True) == sent_in(form, *harmless)


def test_a_conversation_goes_on_in_another_form_without_what_only_the_first_knows() -> None:
    for key, item in (("messages_blocks", THINKING), ("responses_items", REASONING)):
        said = kept(key, item, {"type": "text", "text": "Hi."}, content="Hi.")
        assert sent_in("chat_completions", said) == [{"role": "assistant", "content": "Hi."}]
        other: WireForm = "responses" if key == "messages_blocks" else "messages"
        assert THINKING not in sent_in(other, said)
        assert "Hi." in json.dumps(sent_in(other, said))
    both = AssistantMessage("Hi.", (), canonical({"messages_blocks": [], "reasoning_content": "Hm."}))
    assert sent_in("chat_completions", both)[0]["reasoning_content"] == "Hm."


def test_transforms_of_chat_completions_are_refused_in_other_forms() -> None:
    with pytest.raises(ConfigError, match="wire_form is 'messages'; leave them out"):
        Form(Provider(wire_form="messages"), ("signature_skip_validator_if_missing",))


def test_tokens_of_all_items_are_counted() -> None:
    form = Form(Provider(wire_form="responses"), estimator="bytes_per_4")
    one = Transcript.of([AssistantMessage("Wait.")], form).tokens
    assert Transcript.of([AssistantMessage("Wait.", (PING, PONG))], form).tokens > 2 * one
    assert replace(form, estimator="") != form


def test_the_work_of_a_server_goes_back_without_a_text_and_to_nobody_else() -> None:
    search: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    paused = kept("messages_blocks", search)
    assert sent_in("messages", UserMessage("Hi."), paused) == [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": [search]},
    ]
    assert sent_in("responses", UserMessage("Hi."), paused) == [{"role": "user", "content": "Hi."}]
    assert sent_in("chat_completions", UserMessage("Hi."), paused) == [{"role": "user", "content": "Hi."}]


@pytest.mark.parametrize("signature", [{}, {"signature": ""}, {"signature": "c2ln"}])
def test_a_thought_goes_back_with_its_signature_alone(signature: dict[str, str]) -> None:
    thought = {"type": "thinking", "thinking": "Hm.", **signature}
    text = {"type": "text", "text": "Ho."}
    (said,) = sent_in("messages", kept("messages_blocks", thought, text, content="Ho."))
    assert said["content"] == ([thought, text] if signature.get("signature") else [text])
