from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import Delta, Frame, Frames, Stream, as_chat, deltas_in, integer_field

DONE = "data: [DONE]\n\n"
CUT: Json = {"code": "stream_cut", "message": "the stream ended before the reply was complete"}


def frame(tree: Json) -> str:
    return f"data: {canonical(tree)}\n\n"


def chunk(finish: Json = None, /, **delta: Json) -> str:
    """A frame with what is new of the reply."""
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    return frame({"id": "r-1", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]})


def whole(*texts: str) -> dict[str, Any]:
    stream, _ = Stream().feed("".join(texts))
    return {**stream.whole()}


def failure(*texts: str) -> Json:
    return whole(*texts).get("error")


def shown(*texts: str) -> list[Delta]:
    stream, deltas = Stream().feed("".join(texts))
    return [*deltas, *stream.close()[1]]


HELLO = (chunk(role="assistant", content=""), chunk(content="Hel"), chunk(content="lo"))
USAGE: Json = {"prompt_tokens": 3, "completion_tokens": 2}


HALVES = ("\\ud83d", "\\ude00")


NOTHING_SAID = (
    ": alive\n\n",
    chunk(),
    chunk(role="assistant", content=""),
    frame({"usage": USAGE}),
    "data: ping\n\n",
)
SOMETHING_SAID = (
    chunk(content=" "),
    chunk(reasoning_content="So"),
    chunk(reasoning="So"),
    chunk(reasoning_details=[{"type": "reasoning.encrypted", "data": "abc"}]),
    chunk(refusal="No."),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": "{"}}]),
    chunk("stop"),
)


@pytest.mark.parametrize("text", NOTHING_SAID)
def test_what_keeps_a_connection_alive_is_no_progress(text: str) -> None:
    stream, deltas = Stream().feed(text)
    assert (stream.progress, deltas) == (0, ())


@pytest.mark.parametrize("text", SOMETHING_SAID)
def test_whatever_the_model_says_is_progress(text: str) -> None:
    assert Stream().feed(text)[0].progress == 1


@pytest.mark.parametrize("body", ["", "{}", '{"data:":1}', "<html>data: x", "dat", "database: x", "\n\n{}"])
def test_a_body_that_is_no_stream_stays_as_it_is(body: str) -> None:
    assert (as_chat(body).body, as_chat(body).codes) == (body, ())
    stream, deltas = Stream().feed(body + "\n\n{}")
    assert stream.feed(HELLO[1])[1] == deltas == ()


@pytest.mark.parametrize(
    "beginning", ["data:", "event: message\n", "id:7\n", "retry: 1\n", ": hi\n", "\r\n\n: hi\n"]
)
def test_a_stream_is_known_by_its_first_line(beginning: str) -> None:
    stream = Stream()
    for letter in beginning:
        assert stream.streamed is None
        stream, _ = stream.feed(letter)
        if stream.streamed:
            break
    assert stream.streamed


@given(st.lists(st.text(min_size=1), max_size=4), st.data())
def test_a_cut_stream_is_never_a_whole_reply(texts: list[str], data: st.DataObject) -> None:
    """Unless the finish reason had come: what is cut off after it is usage and the last word."""
    before = "".join(chunk(content=text) for text in texts)
    text = before + chunk("stop") + frame({"choices": [], "usage": USAGE}) + DONE
    end = len(before + chunk("stop").rstrip())
    at = data.draw(st.integers(len("data:"), len(text)))
    assert (failure(text[:at]) == CUT) is (at < end)
    if at >= end:
        assert whole(text[:at])["choices"] == whole(text)["choices"]


def test_a_surrogate_pair_that_two_frames_share_is_whole_in_the_end_and_shown_as_sound_text() -> None:
    first, second = (f'data: {{"choices":[{{"delta":{{"content":"{half}"}}}}]}}\n\n' for half in HALVES)
    content = whole(first, second, DONE)["choices"][0]["message"]["content"]
    assert json.loads(json.dumps(content)) == "\U0001f600"
    assert shown(first, second) == [Delta("content", "\ufffd")] * 2
    parts = frame({"choices": [{"delta": {"content": [{"type": "text", "text": "PART"}]}}]})
    assert shown(parts.replace("PART", HALVES[0])) == [Delta("content", "\ufffd")]


@given(st.lists(st.text(min_size=1), min_size=1))
def test_what_was_shown_is_what_was_said(texts: list[str]) -> None:
    stream = "".join(chunk(content=text) for text in texts) + chunk("stop")
    content = whole(stream)["choices"][0]["message"]["content"]
    assert "".join(delta.text for delta in shown(stream)) == content == json.loads(json.dumps("".join(texts)))


def test_a_body_that_was_not_streamed_is_shown_at_once() -> None:
    body = canonical({"content": "Hi.", "stop_reason": "end_turn"})
    assert [delta.text for delta in deltas_in(body, "messages", whole=True)] == ["Hi."]
    assert deltas_in(body, "messages", whole=False) == ()
    assert deltas_in("<html>", "messages", whole=True) == ()
    chat = canonical({"choices": [{"message": {"content": "Hi."}}]})
    assert [delta.text for delta in deltas_in(chat, "chat_completions", whole=True)] == ["Hi."]


@pytest.mark.parametrize(
    ("given", "number"),
    [(2, 2), ("2", 2), (True, None), ("x", None), (None, None), ("9" * 12, None), (1.5, None)],
)
def test_a_place_is_a_number_however_it_is_sent(given: Json, number: int | None) -> None:
    assert integer_field({"index": given}, "index") == number


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
