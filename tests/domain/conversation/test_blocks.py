from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_texts
from toolreel_core._conversation.blocks import BLOCK, HANDFUL, Rope
from toolreel_core._jsontext.canonical import JsonText, canonical, parse

LONG = canonical("é" * (BLOCK // 4))
"""So long that two of them fill a block."""

texts = st.lists(json_texts | st.just(LONG), max_size=2 * HANDFUL + 4)


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


@given(texts.filter(bool))
def test_a_rope_gives_its_texts_back(parts: list[JsonText]) -> None:
    rope = rope_of(parts)
    assert [*rope] == parts
    assert {type(text) for text in rope} == {JsonText}
    assert (rope[0], rope[-1]) == (parts[0], parts[-1])


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


def test_texts_of_a_handful_are_shared_by_all_that_follows() -> None:
    handful = rope_of([canonical(number) for number in range(HANDFUL)])
    assert (len(handful.handfuls), handful.newest) == (1, ())
    longer = handful.append(b"1")
    assert longer.handfuls is handful.handfuls
    assert (longer.newest, longer.count) == ((b"1",), HANDFUL + 1)


def test_a_block_that_is_full_is_shared_by_all_that_follows() -> None:
    full = rope_of([LONG, LONG])
    assert (len(full.full), full.handfuls, full.newest) == (1, (), ())
    longer = full.append(b"1").append(LONG.encode())
    assert longer.pieces()[0] is full.pieces()[0]
    assert longer.append(LONG.encode()).full[0] is full.full[0]


def test_a_rope_stays_as_it_was_when_a_text_is_appended() -> None:
    before = rope_of([LONG])
    before.append(LONG.encode())
    assert before == rope_of([LONG])
