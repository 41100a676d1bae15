from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.strategies import json_texts
from toolreel_core._conversation import (
    BLOCK,
    HANDFUL,
    AssistantMessage,
    Message,
    Quotable,
    Rope,
    SentCall,
    StoredMessages,
    ToolMessage,
    UserMessage,
    memo,
    wire,
    wire_is_memo,
)
from toolreel_core._jsontext import JsonText, canonical, parse, quote

LONG = ToolMessage("a", "é\n" * (BLOCK // 8))
"""So long that three of them fill a block."""
HI, BYE = UserMessage("hi"), AssistantMessage("bye")

fields = st.sampled_from(
    ["role", "content", "tool_calls", "id", "type", "function", "signature", "reasoning"]
)
values = st.none() | st.booleans() | st.text(max_size=3) | st.just({"name": "x"}) | st.just([{"id": "b"}])
extras = st.dictionaries(fields, values, max_size=3).map(canonical)
"""A provider's own fields, of which some stand where the message's own do."""
calls = st.builds(SentCall, st.text(max_size=3), st.text(max_size=3), st.text(max_size=3), extras)
signed = st.builds(AssistantMessage, st.text(max_size=3), st.lists(calls, max_size=2).map(tuple), extras)
histories = (
    st.lists(strategies.messages | signed | st.just(LONG), max_size=3 * HANDFUL) | strategies.histories
)


def recalled(messages: list[Message]) -> StoredMessages:
    memos = Rope()
    for message in messages:
        memos = memos.append(memo(message).encode())
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
    assert (memo(message) == wire(message)) == wire_is_memo(message)


@given(histories, st.text(max_size=4) | st.sampled_from(["é\né", 'a"', "hi", "\ud83d"]))
def test_no_message_is_missed_in_which_a_word_stands(messages: list[Message], word: str) -> None:
    told = [*messages, ToolMessage("a", f"<{quote(word)}>" if word.isprintable() else "{}"), HI]
    found = list(recalled(told).mentioning(word))
    assert [one for one in told if word in one.content and one not in found] == []
    assert [one for one in found if one not in told] == []


def test_blocks_in_which_a_word_does_not_stand_are_not_read() -> None:
    damaged = Rope().append(b"[" + b" " * BLOCK).append(memo(HI).encode())
    assert list(StoredMessages(damaged).mentioning("hi", "there")) == [HI]


@given(histories)
def test_a_model_may_quote_what_users_and_tools_have_said(messages: list[Message]) -> None:
    quotable = Quotable(recalled(messages))
    said = [one.content for one in messages if isinstance(one, ToolMessage | UserMessage)]
    assert list(quotable) == said
    assert set(quotable.among("")) == set(said)


LONG_blocks = canonical("é" * (BLOCK // 4))
"""So long that two of them fill a block."""

texts = st.lists(json_texts | st.just(LONG_blocks), max_size=2 * HANDFUL + 4)


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
    found = list(rope.values_with(word, b"never there"))
    assert [value for value in wanted if value not in found] == []
    assert [value for value in found if value not in values] == []
