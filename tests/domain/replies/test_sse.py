from __future__ import annotations

import pytest

from toolreel_core._replies import Frame, Frames

A: Frame = {"a": 1}
B: Frame = {"b": "é data: {"}
A_TEXT = 'data: {"a":1}'
B_TEXT = 'data: {"b":"é data: {"}'


def read(*pieces: str) -> tuple[Frame, ...]:
    frames = Frames()
    found: list[Frame] = []
    for piece in pieces:
        frames, more = frames.feed(piece)
        found += more
    return (*found, *frames.close())


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        ("", ()),
        (f"{A_TEXT}\n\n{B_TEXT}\n\ndata: [DONE]\n\n", (A, B, "done")),
        (f"{A_TEXT}\r\n\r\n{B_TEXT}\r\n\r\ndata: [DONE]\r\n\r\n", (A, B, "done")),
        (f"{A_TEXT}\r\r{B_TEXT}\r\r", (A, B)),
        (f"{A_TEXT}\n{B_TEXT}\ndata:[DONE]", (A, B, "done")),
        ('data:{"a":1}\n\n', (A,)),
        ('data:\ndata: {\ndata: "a":\ndata: 1}\n\n', (A,)),
        (f"event: message\nid: 7\nretry: 100\n{A_TEXT}\n\n", (A,)),
        (f": OPENROUTER PROCESSING\n\n{A_TEXT}\n\n:\n\n", (A,)),
        (f"data: : OPENROUTER PROCESSING\n\ndata: :\n\n{A_TEXT}\n\n", (A,)),
        (f"data: ping\n\ndata\n\ndata: null\n\ndata: [1]\n\n{A_TEXT}\n\n", (A,)),
        (f"what is this\n\n{A_TEXT}\n\n", (A,)),
        (f"data: {A_TEXT}\n\n", (A,)),
        ('error: {"code":500}\n\n', ({"error": {"code": 500}},)),
        ('{"a":1}\n', (A,)),
        ('data: {"b":"x\u2028\u0085"}\n\n', ({"b": "x\u2028\u0085"},)),
    ],
    ids=str,
)
def test_a_text_is_read_as_frames(text: str, frames: tuple[Frame, ...]) -> None:
    assert read(text) == frames


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        (f'data: {{"id":"7","role":"a{A_TEXT}\n\n', ("lost", A)),
        (f'data: {{"id":"7","role":"a{B_TEXT}\n\n', ("lost", B)),
        (f'data: {{"id":"7","ro\n{A_TEXT}\n\n', ("lost", A)),
        (f'data: {{"id":"7","ro\n{A_TEXT}\ndata: [DONE]\n', ("lost", A, "done")),
        ('data: {"id":"7","rodata: [DONE]\n\n', ("lost", "done")),
        (f'data: {{"id":"7","ro\n\n{A_TEXT}\n\n', ("lost", A)),
        (f'a: {{"id":"7"}}\n\n{A_TEXT}\n\n', ("lost", A)),
        (f'{A_TEXT}\n\ndata: {{"b', (A, "lost")),
        (f"{A_TEXT}\n\nda", (A,)),
        ('data: {"x":"data: {" data: {\n\n', ("lost",)),
        (f"data: {{{'data: {' * 9}{A_TEXT[6:]}\n\n", ("lost",)),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_told_and_the_next_frame_is_found(
    text: str, frames: tuple[Frame, ...]
) -> None:
    assert read(text) == frames


def test_a_frame_is_given_as_soon_as_its_line_has_ended() -> None:
    frames, found = Frames().feed(A_TEXT)
    assert found == ()
    frames, found = frames.feed("\r")
    assert found == (A,)
    assert frames.feed("\n")[1] == ()
    assert frames.feed(f"\n\n{B_TEXT}\n")[1] == (B,)


def test_half_a_surrogate_pair_is_left_for_the_frame_that_has_the_other() -> None:
    assert read('data: {"a":"\\ud83d"}\n\n') == ({"a": "\ud83d"},)
