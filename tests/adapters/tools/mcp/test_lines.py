from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.tools.mcp._lines import Lines, TooLong


def fed(pieces: list[bytes], limit: int) -> list[bytes | TooLong]:
    lines = Lines(limit)
    return [line for piece in pieces for line in lines.feed(piece)]


@given(st.lists(st.binary(max_size=40).map(lambda text: text.replace(b"b", b"\n"))), st.integers(1, 60))
def test_lines_are_the_same_however_the_pieces_are_cut(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    assert (
        fed(pieces, limit) == fed([whole], limit) == fed([whole[i : i + 1] for i in range(len(whole))], limit)
    )


@given(st.lists(st.binary(max_size=40)), st.integers(0, 60))
def test_a_line_is_whole_or_too_long(pieces: list[bytes], limit: int) -> None:
    *ended, _ = b"".join(pieces).split(b"\n")
    for line, found in zip(ended, fed(pieces, limit), strict=True):
        if isinstance(found, TooLong):
            assert found.size == len(line) > limit
        else:
            assert found == line.removesuffix(b"\r")
            assert len(line) <= limit


def test_a_line_without_end_takes_no_more_room_than_its_edges() -> None:
    lines = Lines(10_000)
    for _ in range(1_000):
        assert [*lines.feed(b"x" * 10_000)] == []
    assert lines.passed > 9_900_000
    (line,) = lines.feed(b"\n")
    assert isinstance(line, TooLong)
    assert (line.size, len(line.head), len(line.tail)) == (10_000_000, 512, 512)


@pytest.mark.parametrize(
    ("head", "tail", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{', b"}}", 7),
        (b'{"jsonrpc": "2.0", "id": "7", "result":{', b"}}", 7),
        (b'{"id":7,"result":{', b"}}", 7),
        (b'{"result":{', b'},"jsonrpc":"2.0","id":7}', 7),
        (b'{"result":{', b'},"id":7,"jsonrpc":"2.0"}\r', 7),
        (b'{"result":{"id":7,', b"}}", None),
        (b'{"result":{', b'"id":7}}', None),
        (b"xxxx", b"xxxx", None),
    ],
)
def test_an_answer_that_was_let_go_may_say_what_it_answers(
    head: bytes, tail: bytes, request_id: int | None
) -> None:
    assert TooLong(10**7, head, tail).request_id == request_id
