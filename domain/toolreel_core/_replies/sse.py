"""Server-sent events of a streamed reply: text in arbitrary chunks in, JSON objects out.

The events are read as servers really write them: comments keep the connection alive, some gateways wrap a
comment into ``data:`` (``data: : OPENROUTER PROCESSING``, llm-gateway#2053), some servers omit the blank line
between two events, and a truncated frame may share its line with the next (opencode#8282, term-llm#448).
What cannot be parsed is reported as ``lost``, never skipped silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal, TypeAlias

from pyrsistent import PVector, pvector

from toolreel_core._jsontext import Json, read
from toolreel_core._lazy_pattern import lazy_pattern

Frame: TypeAlias = Mapping[str, Json] | Literal["done", "lost"]
"""A JSON object, the end of the stream, or something that could not be parsed."""

_SILENT: Final = frozenset({"", "event", "id", "retry"})
_DONE: Final = "[DONE]"
_JSON: Final = tuple('{["-0123456789tfn')
"""The first characters of JSON values."""
_LINE_END: Final = lazy_pattern(r"\r\n|\n|\r")
"""A line end of server-sent events; ``splitlines()`` would also split at U+2028 inside JSON."""
_NEXT: Final = lazy_pattern(r"data:\s*(?=[{\[])")
"""The next event in a line whose line end a proxy has dropped."""
_TRIES: Final = 8
"""Positions tried for the next frame in a broken line: bounded, so that a long line stays linear."""
_NONE: Final[PVector[str]] = pvector()


@dataclass(frozen=True, slots=True)
class Frames:
    r"""Parser state of an event stream: an immutable value that :meth:`feed` replaces.

    >>> frames, found = Frames().feed('data: {"a":1}\n\ndata: {"b"')
    >>> found
    ({'a': 1},)
    >>> frames.feed(":2}\n")[1]
    ({'b': 2},)
    """

    line: PVector[str] = _NONE
    """Chunks of the unfinished last line."""
    held: PVector[str] = _NONE
    """Data lines of an unfinished event that cannot be parsed yet."""
    returned: bool = False
    """Whether the last character was a carriage return: a line feed next belongs to the same line end."""

    def feed(self, text: str) -> tuple[Frames, tuple[Frame, ...]]:
        """The state after the next chunk of text, and the frames that it completes."""
        first, *others = _LINE_END.split(text.removeprefix("\n") if self.returned else text)
        returned = text.endswith("\r") or (self.returned and not text)
        line = self.line.append(first) if first else self.line
        if not others:
            return replace(self, line=line, returned=returned), ()
        held, frames = _read_lines(self.held, ["".join(line), *others[:-1]])
        rest = pvector(others[-1:]) if others[-1] else _NONE
        return Frames(rest, held, returned), tuple(frames)

    def close(self) -> tuple[Frame, ...]:
        """The frames in the unfinished rest, once the text has ended."""
        _, frames = _read_lines(self.held, ["".join(self.line), ""])
        return tuple(frames)


def _read_lines(held: PVector[str], lines: Sequence[str]) -> tuple[PVector[str], list[Frame]]:
    frames: list[Frame] = []
    for line in lines:
        data = _data_of_line(line)
        if not line.strip():
            frames += _frames_of_event(held)
            held = _NONE
        elif data is None:
            continue
        elif data.strip() == _DONE:
            frames += [*_frames_of_event(held), "done"]
            held = _NONE
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
            return None if name in _SILENT or "{" not in line else line


def _frames_of_event(held: PVector[str]) -> tuple[Frame, ...]:
    """The frames of an event none of whose lines could be parsed alone."""
    whole = _frame_of_data("\n".join(held))
    if whole is not None:
        return whole
    return tuple(frame for line in held for frame in _frames_of_broken_line(line))


def _frames_of_broken_line(line: str) -> tuple[Frame, ...]:
    """The frames of a line that may hold a truncated frame followed by the next one."""
    found = _frame_of_data(line)
    if found is not None:
        return found
    for next_frame in islice(_NEXT.finditer(line), _TRIES):
        found = _frame_of_data(line[next_frame.end() :])
        if found:
            return ("lost", *found) if line[: next_frame.start()].strip() else found
    # A keep-alive word such as "ping" loses nothing; with a brace or quote it was part of a reply.
    return ("lost",) if "{" in line or '"' in line else ()


def _frame_of_data(data: str) -> tuple[Frame, ...] | None:
    """The frame in some data, ``()`` if it is empty or a comment, ``None`` if it is not JSON."""
    text = data.strip()
    if not text or text.startswith(":"):
        return ()
    if text == _DONE:
        return ("done",)
    if not text.startswith(_JSON):  # most lines that are not JSON show it at once
        return None
    # A surrogate pair may be split between two frames, so halves are kept until the texts are joined.
    return (
        read(text, with_halves=True)
        .map(lambda tree: (tree,) if isinstance(tree, Mapping) else ())
        .value_or(None)
    )
