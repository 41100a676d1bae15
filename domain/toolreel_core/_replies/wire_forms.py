"""Replies of any wire form, whole or streamed, as chat completions: the one place where the three forms meet.

A stream that ends before its reply is complete is truncated, even if its content looks complete, and is a
retryable error; so is one that reports an error in the middle (OmniRoute#8210, goose#8027).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, TypeAlias, assert_never

from pyrsistent import PVector, pvector

from toolreel_core._jsontext import Json, Tree, as_tree, read_json
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._replies.chat_events import ChatEvents, choices_of, delta_in_choice, normalized_deltas
from toolreel_core._replies.classification import STREAM_CUT
from toolreel_core._replies.event_assembly import Delta, Deltas, ReadAsChat
from toolreel_core._replies.normalize import BODY_BLANKS, FIELDS, is_stream
from toolreel_core._replies.other_forms import (
    MessageEvents,
    ResponseEvents,
    messages_body_as_chat,
    responses_body_as_chat,
)
from toolreel_core._replies.warning_codes import WarningCodes
from toolreel_core._settings import WireForm

Frame: TypeAlias = Mapping[str, Json] | Literal["done", "lost"]
"""A JSON object, the end of the stream, or something that could not be parsed."""

_SILENT = frozenset({"", "event", "id", "retry"})
"""Fields without data; the empty one is a comment."""
_END = "[DONE]"
_JSON = tuple('{["-0123456789tfn')
"""The first characters of JSON values."""
_LINE_END = lazy_pattern(r"\r\n|\n|\r")
"""A line end of server-sent events; ``splitlines()`` would also split at U+2028 inside JSON."""
_NEXT_FRAME = lazy_pattern(r"data:\s*(?=[{\[])")
"""The next event in a line whose line end a proxy has dropped (SamSaffron/term-llm#448)."""
_TRIES = 8
"""Positions tried for the next frame in a broken line: bounded, so that a long line stays linear."""
_NO_LINES: PVector[str] = pvector()


@dataclass(frozen=True, slots=True)
class Frames:
    r"""Parser state of an event stream: an immutable value that :meth:`feed` replaces.

    >>> frames, found = Frames().feed('data: {"a":1}\n\ndata: {"b"')
    >>> found
    ({'a': 1},)
    >>> frames.feed(":2}\n")[1]
    ({'b': 2},)
    """

    line: PVector[str] = _NO_LINES
    """Chunks of the unfinished last line."""
    held: PVector[str] = _NO_LINES
    """Data lines of an unfinished event that cannot be parsed yet."""
    returned: bool = False
    """Whether the last character was a carriage return: a line feed next belongs to the same line end."""

    def feed(self, text: str) -> tuple[Frames, tuple[Frame, ...]]:
        """The state after the next chunk of text, and the frames that it completes."""
        first, *others = _LINE_END.split(text.removeprefix("\n") if self.returned else text)
        returned = text.endswith("\r") or (self.returned and not text)
        line = self.line.append(first)
        if not others:
            return replace(self, line=line, returned=returned), ()
        held, frames = _read_lines(self.held, ["".join(line), *others[:-1]])
        return Frames(pvector(others[-1:]), held, returned), tuple(frames)

    def close(self) -> tuple[Frame, ...]:
        _, frames = _read_lines(self.held, ["".join(self.line), ""])
        return tuple(frames)


def _read_lines(held: PVector[str], lines: Sequence[str]) -> tuple[PVector[str], list[Frame]]:
    frames: list[Frame] = []
    for line in lines:
        data = _data_of_line(line)
        if not line.strip():
            frames += _frames_of_event(held)
            held = _NO_LINES
        elif data is None:
            continue
        elif data.strip() == _END:
            frames += [*_frames_of_event(held), "done"]
            held = _NO_LINES
        else:
            # A complete object is a frame at once: some servers omit the blank line that ends an event.
            found = None if held else _frame_of_data(data)
            frames += found or ()
            held = held.append(data) if found is None else held
    return held, frames


def _data_of_line(line: str) -> str | None:
    """The data of a line, or ``None``; llama.cpp has written ``error: {…}`` for ``data: {"error": …}``."""
    field, _, value = line.partition(":")
    match field.strip():
        case "data":
            return value.removeprefix(" ")
        case "error":
            return f'{{"error":{value}}}'
        case name:
            # A bare object is data, and so is an unknown field with a brace: it is reported as lost.
            return None if name in _SILENT or "{" not in line else line


def _frames_of_event(held: PVector[str]) -> tuple[Frame, ...]:
    whole = _frame_of_data("\n".join(held))
    if whole is not None:
        return whole
    return tuple(frame for line in held for frame in _frames_of_broken_line(line))


def _frames_of_broken_line(line: str) -> tuple[Frame, ...]:
    """The frames of a line that may hold a truncated frame followed by the next one."""
    found = _frame_of_data(line)
    if found is not None:
        return found
    for next_frame in islice(_NEXT_FRAME.finditer(line), _TRIES):
        found = _frame_of_data(line[next_frame.end() :])
        if found:
            return ("lost", *found) if line[: next_frame.start()].strip() else found
    # A keep-alive word such as "ping" loses nothing; with a brace or quote it was part of a reply.
    return ("lost",) if "{" in line or '"' in line else ()


def _frame_of_data(data: str) -> tuple[Frame, ...] | None:
    """The frame in some data, ``()`` if it is empty or a comment, ``None`` if it is not JSON."""
    text = data.strip()
    # Some gateways wrap a comment into data: "data: : OPENROUTER PROCESSING" (llm-gateway#2053).
    if not text or text.startswith(":"):
        return ()
    if text == _END:
        return ("done",)
    if not text.startswith(_JSON):  # most lines that are not JSON show it at once
        return None
    # A surrogate pair may be split between two frames, so halves are kept until the texts are joined.
    return (
        read_json(text, with_halves=True)
        .map(lambda tree: (tree,) if isinstance(tree, Mapping) else ())
        .value_or(None)
    )


def as_chat(body: str, form: WireForm = "chat_completions") -> ReadAsChat:
    """A body as chat completions would have it, and as if it had not been streamed.

    The body itself decides whether it is a stream, not the request: servers stream unasked, or answer with
    JSON (llm_wiki#619).

    >>> as_chat('{"content":"Hi.","stop_reason":"end_turn"}', "messages").body["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi.'}
    """
    is_chat = form == "chat_completions"
    codes: WarningCodes = ()
    own: Json = body if is_chat else read_json(body).value_or(body)
    if is_stream(body):
        stream = stream_for_form(form).feed(body)[0].close()[0]
        own, codes = stream.whole(), ("STREAM_FRAME_LOST",) if stream.lost else ()
    return _FORMS[form][1](own)._replace(codes=codes, own=None if is_chat else own)


def wire_form_of_body(body: str) -> WireForm | None:
    if is_stream(body):
        frames, found = Frames().feed(body)
        tree = next((frame for frame in (*found, *frames.close()) if isinstance(frame, Mapping)), {})
    else:
        tree = as_tree(read_json(body).value_or(""))
    kind = tree.get("type")
    if "choices" in tree:
        return "chat_completions"
    if tree.get("object") == "response" or (isinstance(kind, str) and kind.startswith("response.")):
        return "responses"
    return "messages" if kind in ("message", "message_start") else None


def deltas_in(body: str, form: WireForm = "chat_completions", *, whole: bool) -> Deltas:
    """The chunks to display of a body that was received at once.

    :param whole: whether to include a body that is not a stream
    """
    stream, deltas = stream_for_form(form).feed(body)
    if stream.streamed or not whole:
        return deltas + stream.close()[1]
    choices = choices_of(as_tree(_FORMS[form][1](read_json(body).value_or("")).body))
    return normalized_deltas(delta_in_choice(choices[0])) if choices else ()


_FORMS = {
    "chat_completions": (ChatEvents, ReadAsChat),
    "messages": (MessageEvents, messages_body_as_chat),
    "responses": (ResponseEvents, responses_body_as_chat),
}
"""What joins the events of a stream of each form, and what translates a body."""


_CUT_SHORT = "the stream ended before the reply was complete"
_LOST = "a part of the stream could not be read, and may have been part of a tool call"


@dataclass(frozen=True, slots=True)
class Stream:
    r"""The state of a streamed reply: an immutable value, fed with text in arbitrary chunks.

    >>> stream, deltas = Stream().feed('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n')
    >>> deltas
    (Delta(kind='content', text='Hi', index=0, call_id='', name=''),)
    >>> stream, _ = stream.feed("data: [DONE]\n\n")
    >>> stream.done
    True
    """

    events: ChatEvents | MessageEvents | ResponseEvents = field(default_factory=ChatEvents)
    """The events so far, in the form of the endpoint."""
    streamed: bool | None = None
    """Whether the body is a stream at all; ``None`` until its first characters decide."""
    done: bool = False
    """Whether the rest can be ignored: the stream has ended, or reported an error."""
    progress: int = 0
    """Number of meaningful events; a watchdog checks that it grows."""
    opening: str = ""
    """The text so far, while ``streamed`` is undecided."""
    frames: Frames = field(default_factory=Frames)
    lost: bool = False
    """Whether an event before the end of the reply could not be parsed."""

    @property
    def head(self) -> Tree:
        """What is known of the reply besides what it says."""
        return self.events.head

    def feed(self, text: str) -> tuple[Stream, Deltas]:
        """The stream after the next chunk of text, and the deltas to display."""
        if self.done or self.streamed is False:
            return self, ()
        if self.streamed is None:
            opening = (self.opening + text).lstrip(BODY_BLANKS)
            if opening.startswith(FIELDS):
                return replace(self, streamed=True, opening="").feed(opening)
            may_be = any(name.startswith(opening) for name in FIELDS)
            return replace(self, streamed=None if may_be else False, opening=opening if may_be else ""), ()
        frames, found = self.frames.feed(text)
        return replace(self, frames=frames)._take_frames(found)

    def close(self) -> tuple[Stream, Deltas]:
        """The stream at the end of its text, and the deltas of an unterminated last line."""
        return replace(self, frames=Frames())._take_frames(self.frames.close())

    def whole(self) -> Tree:
        """The body as if it had not been streamed, with an ``error`` if the stream failed."""
        closed = self.close()[0]
        events, body = closed.events, closed.events.body()
        # ``[DONE]`` completes a chat completion without a finish reason.
        complete = events.complete or (closed.done and isinstance(events, ChatEvents))
        error = events.failure
        if not error and not complete:
            error = {"code": STREAM_CUT, "message": _CUT_SHORT}
        # Lost text is only a gap in an answer, but a gap in a call could change what runs.
        elif not error and closed.lost and events.has_calls():
            error = {"code": STREAM_CUT, "message": _LOST}
        return {**body, "error": error} if error else body

    def _take_frames(self, frames: Iterable[Frame]) -> tuple[Stream, Deltas]:
        at = self
        shown: list[Delta] = []
        for frame in frames:
            if at.done:
                break
            match frame:
                case "done":
                    at = replace(at, done=True)
                case "lost":
                    at = replace(at, lost=at.lost or not at.events.complete)
                case Mapping():
                    before = at.events
                    # Some gateways translate only the request, and answer with chat completions
                    # (decolua/9router#3781).
                    if "choices" in frame and not isinstance(frame.get("type"), str):
                        before = before if isinstance(before, ChatEvents) else ChatEvents()
                    events, deltas = before.add_event(frame)
                    meant = deltas or (events.complete, events.silent) != (before.complete, before.silent)
                    at = replace(at, events=events, done=events.over, progress=at.progress + bool(meant))
                    shown += deltas
                case _:
                    assert_never(frame)
        return at, tuple(shown)


def stream_for_form(form: WireForm) -> Stream:
    return Stream(_FORMS[form][0]())
