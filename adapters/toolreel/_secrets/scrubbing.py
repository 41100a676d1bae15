"""The scrubber of every sink: replaces known secrets in texts and bodies, whole or as they arrive.

Bodies are those of replies: what a server says back is replaced before a run, a record, a client or a log has
it, whatever its spelling, and also where the frames of a stream or content parts spell it in pieces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel._secrets.known_values import spellings
from toolreel._secrets.project_rules import rules_in
from toolreel._secrets.split_texts import Piece, groups_of, pieces_in
from toolreel_core._jsontext import Json, read
from toolreel_core._lazy_pattern import lazy_pattern

_LINE_ENDS: Final = lazy_pattern(r"[\r\n]+")
"""The end of a line, with the blank lines after it."""
_STREAM_ENDS: Final = lazy_pattern(
    r'data: ?\[DONE\]|.*"type": ?"(?:message_stop|response\.(?:completed|failed|incomplete))"'
)
"""The last line of a stream, in each form; it is not held, as some servers keep the connection open then."""
_IN_LINE: Final = lazy_pattern(r"(?:\s*+data:)?\s*+([{\[].*[}\]])\s*")
"""The JSON of a line: a frame of an event stream, or of a stream of lines."""


def scrubbed(text: str, known: Mapping[str, str]) -> str:
    """The text without known secrets, in whatever spelling.

    >>> scrubbed("It is Bearer 3f2a90bc71.", {"MY_KEY": "3f2a90bc71"})
    'It is Bearer [value of MY_KEY].'
    """
    for spelling, mask in _masks(known):
        text = text.replace(spelling, mask)
    return text


def scrubbed_body(body: str, known: Mapping[str, str]) -> str:
    """The body of a reply without known secrets, also without those that its JSON has in pieces.

    >>> scrubbed_body('{"content":["3f2a","90bc71"]}', {"MY_KEY": "3f2a90bc71"})
    '{"content":["[value of MY_KEY]",""]}'
    """
    scrub = RunningBodyScrub(known)
    return scrub.feed(body) + scrub.close()


def searched_for(known: Mapping[str, str]) -> dict[str, str]:
    """The secrets that the project's rules do not allow."""
    rules = rules_in()
    return {name: value for name, value in known.items() if not rules.allows(value.strip())}


class RunningScrub:
    """Scrubs a text in pieces: what may be the beginning of a secret is held back until more has come."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        self._spellings = [spelling for spelling, _ in _masks(known)]
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown after the next piece."""
        text = scrubbed(self._held + text, self._known)
        kept = max((_overlap(text, spelling) for spelling in self._spellings), default=0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def close(self) -> str:
        """What was held back, at the end of the text."""
        held, self._held = self._held, ""
        return held


@dataclass(slots=True)
class _Line:
    """A line of a body that is held back."""

    text: str
    frame: Json = None
    """Its JSON; ``None`` without."""
    start: int = 0
    end: int = 0
    """Where that is in the line."""
    changed: bool = False


class RunningBodyScrub:
    """Scrubs the body of a reply as it arrives: lines that may begin a secret are held back.

    A body that is one JSON document of several lines is held back as a whole.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self._masks = _masks(known)
        self._known = known
        self._arrived: list[str] = []
        """The text after the last complete line."""
        self._lines: list[_Line] = []
        self._is_document: bool | None = None

    def feed(self, text: str) -> str:
        """What can pass after the next piece."""
        if not self._masks:
            return text
        self._arrived.append(text)
        if self._is_document or not ("\n" in text or "\r" in text):
            return ""
        arrived = "".join(self._arrived)
        end = 0
        for found in _LINE_ENDS.finditer(arrived):
            self._lines.append(self._line(arrived[end : found.end()]))
            end = found.end()
        if self._is_document is None and arrived.lstrip()[:1] in ("{", "["):
            self._is_document = self._lines[0].frame is None
            if self._is_document:
                self._lines.clear()
                return ""
        self._arrived = [arrived[end:]]
        return self._passing(last=_STREAM_ENDS.match(self._lines[-1].text) is not None)

    def close(self) -> str:
        """What was held back, at the end of the body."""
        rest = "".join(self._arrived)
        self._arrived = []
        if rest:
            self._lines.append(self._line(rest))
        return self._passing(last=True)

    def _line(self, text: str) -> _Line:
        found = _IN_LINE.fullmatch(text)
        if found is None and (text.lstrip()[:1] not in ("{", "[")):
            return _Line(text)
        start, end = found.span(1) if found else (0, len(text))
        frame = read(text[start:end]).value_or(None)
        return _Line(text, frame, start, end) if isinstance(frame, dict | list) else _Line(text)

    def _passing(self, *, last: bool) -> str:
        """The lines that hold no beginning of a secret, without those that hold one."""
        pieces = [piece for at, line in enumerate(self._lines) for piece in pieces_in(line.frame, at)]
        # Most texts begin no secret, and need not be joined with others.
        beginnings = {*filter(self._begins, {piece.text for piece in pieces})}
        begun = {piece.names[-1] for piece in pieces if piece.text in beginnings}
        passing = len(self._lines)
        for group in groups_of(piece for piece in pieces if piece.names[-1] in begun):
            self._mask(group)
            if not last:
                passing = min(passing, self._first_held(group))
        passed, self._lines = self._lines[:passing], self._lines[passing:]
        return "".join(map(self._written, passed))

    def _begins(self, text: str) -> bool:
        return any(spelling in text or _overlap(text, spelling) for spelling, _ in self._masks)

    def _mask(self, group: list[Piece]) -> None:
        whole = "".join(piece.text for piece in group)
        for spelling, mask in self._masks:
            while (at := whole.find(spelling)) >= 0:
                begins, rest, put = 0, (at, at + len(spelling)), mask
                for piece in group:
                    start, end = max(0, rest[0] - begins), min(len(piece.text), rest[1] - begins)
                    begins += len(piece.text)
                    if start < end:
                        piece.replace(start, end, put)
                        self._lines[piece.frame].changed = True
                        put = ""
                whole = "".join(piece.text for piece in group)

    def _first_held(self, group: list[Piece]) -> int:
        """The first line that may begin a secret which is spelt by this group; all lines if none does."""
        whole = "".join(piece.text for piece in group)
        overlap = max(_overlap(whole, spelling) for spelling, _ in self._masks)
        for piece in reversed(group):
            if overlap <= 0:
                return len(self._lines)
            if overlap <= len(piece.text):
                return piece.frame
            overlap -= len(piece.text)
        return len(self._lines)

    def _written(self, line: _Line) -> str:
        text = line.text
        if line.changed:
            frame = json.dumps(line.frame, ensure_ascii=False, separators=(",", ":"))
            text = f"{text[: line.start]}{frame}{text[line.end :]}"
        return scrubbed(text, self._known)


def _masks(known: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each spelling of each secret, with what stands in its place."""
    return [
        (spelling, f"[value of {name}]")
        for name, value in known.items()
        if value.strip()
        for spelling in spellings(value.strip())
    ]


def _overlap(text: str, spelling: str) -> int:
    """The length of the longest end of the text with which the spelling begins."""
    tail = text[max(0, len(text) - len(spelling) + 1) :]
    at = tail.find(spelling[0])
    while at >= 0 and not spelling.startswith(tail[at:]):
        at = tail.find(spelling[0], at + 1)
    return len(tail) - at if at >= 0 else 0
