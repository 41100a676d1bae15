from __future__ import annotations

import pytest

from tests.samples import worked
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


@pytest.mark.parametrize(("text", "frames"), worked("a text is read as frames", "json-and-replies"))
def test_a_text_is_read_as_frames(text: str, frames: list[Frame]) -> None:
    assert [*read(text)] == frames


def test_a_frame_is_given_as_soon_as_its_line_has_ended() -> None:
    frames, found = Frames().feed(A_TEXT)
    assert found == ()
    frames, found = frames.feed("\r")
    assert found == (A,)
    assert frames.feed("\n")[1] == ()
    assert frames.feed(f"\n\n{B_TEXT}\n")[1] == (B,)


def test_half_a_surrogate_pair_is_left_for_the_frame_that_has_the_other() -> None:
    assert read('data: {"a":"\\ud83d"}\n\n') == ({"a": "\ud83d"},)
