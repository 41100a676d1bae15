"""The framing of a streamed reply: text that arrives in any pieces, and the JSON objects in it.

The text is that of server-sent events, as servers write them: comments keep the connection alive, some
gateways wrap a comment into ``data:`` again (``data: : OPENROUTER PROCESSING``), some servers leave
out the blank line between two events, and a frame that was cut may have the next one on its line
(opencode#8282, term-llm#448). What cannot be read is told as ``lost``, never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal, TypeAlias

from pyrsistent import PVector, pvector

from toolreel_core._jsontext.canonical import Json, read

__all__ = ["FIELDS", "Frame", "Frames"]

Frame: TypeAlias = Mapping[str, Json] | Literal["done", "lost"]
"""A JSON object, the word that the stream is over, or something that could not be read."""

FIELDS: Final = ("data:", "event:", "id:", "retry:", ":")
"""What the first line of a stream may begin with."""

_SILENT: Final = frozenset({"", "event", "id", "retry"})
_DONE: Final = "[DONE]"
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_NEXT: Final = re.compile(r"data:\s*(?=[{\[])")
_TRIES: Final = 8
"""Places in an unreadable line at which the next frame is looked for."""
_NONE: Final[PVector[str]] = pvector()


@dataclass(frozen=True, slots=True)
class Frames:
    r"""How far a stream has been read; what follows depends on nothing else.

    >>> frames, found = Frames().feed('data: {"a":1}\n\ndata: {"b"')
    >>> found
    ({'a': 1},)
    >>> frames.feed(":2}\n")[1]
    ({'b': 2},)
    """

    line: PVector[str] = _NONE
    """Pieces of a line whose end has not come."""
    held: PVector[str] = _NONE
    """Data of an event whose end has not come, and that cannot be read so far."""
    returned: bool = False
    """Whether a carriage return came last, so that a line feed would belong to it."""

    def feed(self, text: str) -> tuple[Frames, tuple[Frame, ...]]:
        """Take in the next piece of the text, and give the frames that it completes."""
        first, *others = _LINE_END.split(text.removeprefix("\n") if self.returned else text)
        returned = text.endswith("\r") or (self.returned and not text)
        line = self.line.append(first) if first else self.line
        if not others:
            return replace(self, line=line, returned=returned), ()
        held, frames = _read_lines(self.held, ["".join(line), *others[:-1]])
        rest = pvector(others[-1:]) if others[-1] else _NONE
        return Frames(rest, held, returned), tuple(frames)

    def close(self) -> tuple[Frame, ...]:
        """The frames in what is left when no more text comes."""
        _, frames = _read_lines(self.held, ["".join(self.line), ""])
        return tuple(frames)


def _read_lines(held: PVector[str], lines: Sequence[str]) -> tuple[PVector[str], list[Frame]]:
    frames: list[Frame] = []
    for line in lines:
        data = _data(line)
        if not line.strip():
            frames += _event(held)
            held = _NONE
        elif data is None:
            continue
        elif data.strip() == _DONE:
            frames += [*_event(held), "done"]
            held = _NONE
        else:
            # Not held until the blank line, which some servers leave out: a whole object can take no more.
            found = None if held else _readable(data)
            frames += found or ()
            held = held.append(data) if found is None else held
    return held, frames


def _data(line: str) -> str | None:
    """What a line has to say, if anything; llama.cpp has written ``error: {…}`` for ``data: {"error":…}``."""
    field, _, value = line.partition(":")
    match field.strip():
        case "data":
            return value.removeprefix(" ")
        case "error":
            return f'{{"error":{value}}}'
        case name:
            return None if name in _SILENT or "{" not in line else line


def _event(held: PVector[str]) -> tuple[Frame, ...]:
    """The frames of an event of which no line could be read when it came."""
    whole = _readable("\n".join(held))
    if whole is not None:
        return whole
    return tuple(frame for line in held for frame in _resynchronised(line))


def _resynchronised(line: str) -> tuple[Frame, ...]:
    """What can be read of a line in which a frame may have been cut."""
    found = _readable(line)
    if found is not None:
        return found
    for next_frame in islice(_NEXT.finditer(line), _TRIES):
        found = _readable(line[next_frame.end() :])
        if found:
            return ("lost", *found) if line[: next_frame.start()].strip() else found
    # A word such as "ping" is no part of a reply.
    return ("lost",) if "{" in line or '"' in line else ()


def _readable(data: str) -> tuple[Frame, ...] | None:
    """The frame in some data, none if they say nothing, or ``None`` if they are not JSON."""
    text = data.strip()
    if not text or text.startswith(":"):
        return ()
    if text == _DONE:
        return ("done",)
    # A surrogate pair may be cut in two by the end of a frame.
    return read(text, with_halves=True).map(_frames_of).value_or(None)


def _frames_of(tree: Json) -> tuple[Frame, ...]:
    return (tree,) if isinstance(tree, Mapping) else ()
