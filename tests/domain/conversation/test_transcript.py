from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.samples import project
from tests.strategies import json_texts
from toolreel_core._conversation import (
    BLOCK,
    AssistantMessage,
    Form,
    Message,
    Quotable,
    Rope,
    SentCall,
    StoredMessages,
    SystemMessage,
    ToolMessage,
    Transcript,
    UserMessage,
    estimate_tokens_with_parts,
    is_restorable_from_wire,
    parts_of_message,
    stored_message_text,
    wire_text,
    write_message,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import JsonText, canonical, chained_digest, parse, quote
from toolreel_core._settings import Provider, estimate_tokens_by_bytes

conversations = st.lists(strategies.messages, max_size=4)
HI, BYE = UserMessage("hi"), AssistantMessage("bye")
RULE = SystemMessage("a")
CALL = SentCall("a", "ping", "{}")
CALLING, RESULT = AssistantMessage("", (CALL,)), ToolMessage("a", "{}")
THOUGHT = AssistantMessage("Well.", extras=canonical({"reasoning": "Hm."}))
CURRENT = Form(Provider(reasoning_replay="current_turn"))
SINGLE = Form(Provider(single_leading_system=True))


@given(strategies.histories | conversations, st.integers(0, 12), strategies.forms)
def test_appending_leads_to_the_transcript_of_the_whole(
    messages: list[Message], first: int, form: Form
) -> None:
    whole = Transcript.of(messages, form)
    assert Transcript.of(messages[:first], form).append(*messages[first:]) == whole
    one_by_one = Transcript.of((), form)
    for message in messages:
        one_by_one = one_by_one.append(message)
    assert one_by_one == whole


@given(strategies.histories, strategies.histories, strategies.histories, strategies.forms)
def test_appending_to_a_shortened_transcript_leads_to_that_of_the_whole(
    stored: list[Message], kept: list[Message], rest: list[Message], form: Form
) -> None:
    shortened = Transcript.of(stored, form).shortened(kept)
    assert shortened == Transcript.of(stored, form, kept=kept)
    assert shortened.append(*rest) == Transcript.of([*stored, *rest], form, kept=[*kept, *rest])


@given(strategies.histories | conversations, strategies.forms)
def test_a_transcript_holds_each_message_and_the_texts_that_go_out(
    messages: list[Message], form: Form
) -> None:
    sent = project(messages, form.provider)
    texts = [write_message(message, form).text for message in sent]
    pairs = zip(sent, texts, strict=True)
    tokens = [
        estimate_tokens_with_parts(parts_of_message(each), text, estimate_tokens_by_bytes)
        for each, text in pairs
    ]
    transcript = Transcript.of(iter(messages), form).complete()
    assert list(transcript.messages) == messages
    assert list(transcript.texts) == texts
    assert transcript.chain == chained_digest("", *texts)
    assert transcript.texts.size == len("".join(texts).encode())
    assert transcript.tokens == (sum(tokens) if form.estimator else 0)


@given(strategies.histories, strategies.histories, strategies.histories, strategies.forms)
def test_two_that_go_on_from_one_do_not_disturb_each_other(
    before: list[Message], one: list[Message], other: list[Message], form: Form
) -> None:
    common = Transcript.of([*before * 5], form)
    ways = [common.append(*more) for more in (one, other)]
    assert [list(way.messages) for way in ways] == [[*before * 5, *one], [*before * 5, *other]]
    assert ways == [Transcript.of([*before * 5, *more], form) for more in (one, other)]
    assert common == Transcript.of(before * 5, form)


@given(strategies.histories, strategies.histories, strategies.forms)
def test_what_is_stored_is_read_back_whatever_goes_out(
    before: list[Message], rest: list[Message], form: Form
) -> None:
    whole = Transcript.of(before, form).append(*rest)
    assert list(whole.messages) == list(whole.outgoing) == [*before, *rest]
    less = whole.shortened(before).append(*rest)
    assert list(less.messages) == [*before, *rest, *rest]
    assert list(less.outgoing) == [*before, *rest]


def test_what_goes_out_as_it_is_stored_is_held_once() -> None:
    said = Transcript.of([RULE, HI])
    for number in range(300):
        signed = AssistantMessage("", (replace(CALL, id=f"{number}"),), THOUGHT.extras)
        said = said.append(signed, ToolMessage(f"{number}", "{}" * 99))
    assert len(said.texts.full) > 1
    assert said.stored is said.texts
    less = said.shortened(said.messages[100:]).append(HI, CALLING)
    assert less.less is less.texts
    assert (len(less.messages), len(less.outgoing)) == (604, 504)


def test_what_goes_out_in_other_words_is_held_beside_them() -> None:
    foreign = AssistantMessage("said", extras=canonical({"content": 7}))
    histories: list[tuple[list[Message], Form]] = [
        ([HI, CALLING, RESULT], Form(Provider(tool_turn_content="null"))),
        ([HI, CALLING, RESULT], Form(Provider(tool_result_name=True))),
        ([HI, RESULT, BYE], Form()),
        ([HI, CALLING, BYE], Form()),
        ([HI, CALLING, RESULT, CALLING], Form()),
        ([HI, foreign], Form()),
        ([HI, RULE, BYE], SINGLE),
    ]
    for history, form in histories:
        whole = Transcript.of(history, form)
        assert whole.stored != whole.texts
        assert list(whole.append(BYE).messages) == [*history, BYE]


def test_an_estimator_that_nobody_knows_is_a_mistake_before_there_is_anything_to_count() -> None:
    with pytest.raises(ConfigError, match="there is no token estimator 'none'"):
        Transcript.of((), Form(estimator="none"))


@given(conversations, conversations)
def test_two_transcripts_share_a_chain_only_if_they_say_the_same(
    one: list[Message], other: list[Message]
) -> None:
    said = [Transcript.of(messages).complete() for messages in (one, other)]
    assert (said[0].chain == said[1].chain) == (project(one) == project(other))


@given(strategies.transcripts)
def test_what_is_complete_stays_as_it_is(transcript: Transcript) -> None:
    complete = transcript.complete()
    assert complete.complete() is complete


def test_a_user_message_takes_the_reasoning_out_of_the_turns_before() -> None:
    thought = Transcript.of([HI, THOUGHT], CURRENT)
    assert thought.texts[1] == '{"role":"assistant","content":"Well.","reasoning":"Hm."}'
    assert dict(thought.quirks) == {}
    later = thought.append(HI, THOUGHT)
    assert [*later.texts] == [
        wire_text(HI),
        wire_text(AssistantMessage("Well.")),
        wire_text(HI),
        wire_text(THOUGHT),
    ]
    assert dict(later.quirks) == {"reasoning_replay": 1}
    assert list(later.messages) == [HI, THOUGHT, HI, THOUGHT]


def test_every_text_that_a_setting_changed_is_counted_under_its_name() -> None:
    provider = Provider(tool_turn_content="null", tool_result_name=True, assistant_after_tool=True)
    history: list[Message] = [HI, CALLING, RESULT, CALLING, RESULT, HI, CALLING]
    counted = Transcript.of(history, Form(provider))
    assert dict(counted.quirks) == {
        "tool_turn_content": 3,
        "tool_result_name": 2,
        "assistant_after_tool": 1,
    }
    assert counted.complete().quirks["tool_result_name"] == 3


def test_an_id_that_was_dropped_may_go_out_again() -> None:
    twice = Transcript.of([HI, CALLING, RESULT, CALLING, RESULT])
    assert twice.texts[3] == wire_text(AssistantMessage("", (replace(CALL, id="a_2"),)))
    assert twice.shortened([HI, CALLING, RESULT]).texts[1] == wire_text(CALLING)


def test_a_reminder_goes_out_at_the_end_and_is_not_stored() -> None:
    whole = Transcript.of([HI, CALLING, RESULT])
    reminded = whole.with_reminder(UserMessage("What is left?"))
    assert [*reminded.texts] == [*whole.texts, wire_text(UserMessage("What is left?"))]
    assert list(reminded.messages) == list(whole.messages)
    assert [*whole.append(BYE).texts] == [*whole.texts, wire_text(BYE)]


LONG = ToolMessage("a", "é\n" * (BLOCK // 8))
"""So long that three of them fill a block."""

fields = st.sampled_from(
    ["role", "content", "tool_calls", "id", "type", "function", "signature", "reasoning"]
)
values = st.none() | st.booleans() | st.text(max_size=3) | st.just({"name": "x"}) | st.just([{"id": "b"}])
extras = st.dictionaries(fields, values, max_size=3).map(canonical)
"""A provider's own fields, of which some stand where the message's own do."""
calls = st.builds(SentCall, st.text(max_size=3), st.text(max_size=3), st.text(max_size=3), extras)
signed = st.builds(AssistantMessage, st.text(max_size=3), st.lists(calls, max_size=2).map(tuple), extras)
histories = st.lists(strategies.messages | signed | st.just(LONG), max_size=24) | strategies.histories


def recalled(messages: list[Message]) -> StoredMessages:
    memos = Rope()
    for message in messages:
        memos = memos.append(stored_message_text(message).encode())
    return StoredMessages(memos)


@given(histories)
def test_what_is_read_back_is_what_was_written(messages: list[Message]) -> None:
    history = recalled(messages)
    assert list(history) == messages
    assert list(reversed(history)) == messages[::-1]
    assert len(history) == len(messages)


@given(strategies.messages | signed)
def test_each_field_that_is_read_back_has_its_own_type(message: Message) -> None:
    (same,) = recalled([message])
    assert type(same) is type(message)
    if isinstance(same, AssistantMessage):
        assert {type(text) for text in (same.extras, *(call.extras for call in same.calls))} == {JsonText}


@given(histories.filter(bool), st.data())
def test_a_message_can_be_picked_and_a_part_cut_out(messages: list[Message], data: st.DataObject) -> None:
    history, at = recalled(messages), data.draw(st.integers(-len(messages), len(messages) - 1))
    assert history[at] == messages[at]
    assert history[at:] == tuple(messages[at:])
    assert history[::-2] == tuple(messages[::-2])


def test_a_history_shows_its_messages() -> None:
    assert repr(recalled([HI, BYE])) == f"StoredMessages([{HI!r}, {BYE!r}])"


@pytest.mark.parametrize("place", [2, -3])
def test_there_is_nothing_outside_of_it(place: int) -> None:
    with pytest.raises(IndexError):
        recalled([HI, BYE])[place]


@given(histories, histories)
def test_two_histories_are_equal_if_their_messages_are(one: list[Message], other: list[Message]) -> None:
    assert (recalled(one) == recalled(other)) == (one == other)
    assert recalled(one) == recalled([*one])
    assert hash(recalled(one)) == hash(recalled([*one]))


@given(strategies.messages | signed)
def test_the_wire_form_is_the_memo_wherever_it_says_all(message: Message) -> None:
    assert (stored_message_text(message) == wire_text(message)) == is_restorable_from_wire(message)


@given(histories, st.text(max_size=4) | st.sampled_from(["é\né", 'a"', "hi", "\ud83d"]))
def test_no_message_is_missed_in_which_a_word_stands(messages: list[Message], word: str) -> None:
    told = [*messages, ToolMessage("a", f"<{quote(word)}>" if word.isprintable() else "{}"), HI]
    found = list(recalled(told).messages_that_may_mention(word))
    assert [one for one in told if word in one.content and one not in found] == []
    assert [one for one in found if one not in told] == []


def test_blocks_in_which_a_word_does_not_stand_are_not_read() -> None:
    damaged = Rope().append(b"[" + b" " * BLOCK).append(stored_message_text(HI).encode())
    assert list(StoredMessages(damaged).messages_that_may_mention("hi", "there")) == [HI]


@given(histories)
def test_a_model_may_quote_what_users_and_tools_have_said(messages: list[Message]) -> None:
    quotable = Quotable(recalled(messages))
    said = [one.content for one in messages if isinstance(one, ToolMessage | UserMessage)]
    assert list(quotable) == said
    assert set(quotable.among("")) == set(said)


LONG_blocks = canonical("é" * (BLOCK // 4))
"""So long that two of them fill a block."""

texts = st.lists(json_texts | st.just(LONG_blocks), max_size=20)


def rope_of(parts: list[JsonText]) -> Rope:
    rope = Rope()
    for part in parts:
        rope = rope.append(part.encode())
    return rope


@given(texts)
def test_the_pieces_of_a_rope_are_its_texts_joined(parts: list[JsonText]) -> None:
    rope = rope_of(parts)
    assert b"".join(rope.pieces()) == ",".join(parts).encode()
    assert rope.size == len("".join(parts).encode())
    assert len(rope) == rope.count == len(parts)


@given(texts, st.binary(min_size=1, max_size=1))
def test_what_the_texts_say_is_read_from_either_end_and_where_a_word_stands(
    parts: list[JsonText], word: bytes
) -> None:
    rope, values = rope_of(parts), [parse(part) for part in parts]
    assert list(rope.values()) == values
    assert list(rope.values_from_the_end()) == values[::-1]
    wanted = [value for part, value in zip(parts, values, strict=True) if word in part.encode()]
    found = list(rope.values_containing_any(word, b"never there"))
    assert [value for value in wanted if value not in found] == []
    assert [value for value in found if value not in values] == []
