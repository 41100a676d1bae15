"""How a conversation goes out to each provider; the cases are in ``tests/corpora/sent-forms.jsonl``."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import corpus_rows, project
from tests.strategies import messages
from toolreel_core import ConfigError
from toolreel_core._conversation import (
    AssistantMessage,
    Audio,
    Blob,
    Form,
    Message,
    SentCall,
    SystemMessage,
    Text,
    ToolMessage,
    Transcript,
    UserMessage,
    Written,
    wire_text,
    write_message,
)
from toolreel_core._jsontext import JsonText, parse
from toolreel_core._protocol import decode
from toolreel_core._settings import Provider, WireForm

PING, PONG = SentCall("call_1", "ping", '{"host":"a"}'), SentCall("call_2", "pong", "{}")
CASES = corpus_rows("sent-forms")


def sent_in(provider: Provider, *conversation: Message) -> list[Any]:
    """What is in the list of a request."""
    transcript = Transcript.of(conversation, Form(provider)).complete()
    found: list[Any] = json.loads(f"[{b''.join(transcript.texts.pieces()).decode()}]")
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["rule"] for case in CASES])
def test_a_conversation_goes_out_as_its_provider_takes_it(case: dict[str, Any]) -> None:
    provider = Provider.of(case["settings"])
    stored = [cast("Message", decode(Message, tree, "message")) for tree in case["messages"]]
    if "quirks" in case:
        out = write_message(stored[0], Form(provider))
        assert ([parse(out.text)], [*out.quirks]) == (case["sent"], case["quirks"])
    elif "outgoing" in case:
        outgoing = [cast("Message", decode(Message, tree, "message")) for tree in case["outgoing"]]
        assert [*project(stored, provider)] == outgoing
        grown = Transcript.of((), Form(provider))
        for message in stored:
            grown = grown.append(message)
        assert grown.complete().chain == Transcript.of(stored, Form(provider)).complete().chain
    else:
        assert sent_in(provider, *stored) == case["sent"]


@given(messages)
def test_a_message_is_written_as_it_is_where_nothing_is_known_of_the_provider(message: Message) -> None:
    assert write_message(message, Form()) == Written(wire_text(message))
    assert type(write_message(message, Form()).text) is JsonText


@pytest.mark.parametrize("message", [SystemMessage("s"), UserMessage("u"), ToolMessage("a", "{}", "ping")])
def test_only_what_the_model_said_has_quirks(message: Message) -> None:
    odd = Provider(
        tool_turn_content="null",
        reasoning_field="thoughts",
        reasoning_required_on="all_assistant",
        signature_channel="extra_content",
        special_token_guard=True,
    )
    assert write_message(message, Form(odd)) == Written(wire_text(message))


@given(answered=st.lists(st.sampled_from(["call_1", "call_2", "call_3"]), unique=True), said=st.booleans())
def test_each_call_is_answered_in_one_message_however_many_results_there_are(
    answered: list[str], said: bool
) -> None:
    calls = tuple(SentCall(f"call_{n}", "ping", "{}") for n in (1, 2, 3))
    results = [ToolMessage(id_, "4") for id_ in answered]
    behind = [UserMessage("And?")] if said else []
    provider = Provider(wire_form="messages")
    assistant, answers, *_ = sent_in(provider, AssistantMessage("", calls), *results, *behind)
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
    assert [*transcript.messages] == conversation


@pytest.mark.parametrize("form", ["responses", "messages"])
def test_sound_is_told_by_its_name(form: WireForm) -> None:
    sound = UserMessage("Listen.", (Text("Listen."), Audio(Blob("audio/wav", "AAAA"))))
    assert "audio" in json.dumps(sent_in(Provider(wire_form=form), sound))
    assert "AAAA" not in write_message(sound, Form(Provider(wire_form=form))).text


def test_transforms_of_chat_completions_are_refused_in_other_forms() -> None:
    with pytest.raises(ConfigError, match="wire_form is 'messages'; leave them out"):
        Form(Provider(wire_form="messages"), ("signature_skip_validator_if_missing",))


def test_tokens_of_all_items_are_counted() -> None:
    form = Form(Provider(wire_form="responses"), estimator="bytes_per_4")
    one = Transcript.of([AssistantMessage("Wait.")], form).tokens
    assert Transcript.of([AssistantMessage("Wait.", (PING, PONG))], form).tokens > 2 * one
