"""Markdown code in a text: fences, and code within a line.

Fences are found before anything else that opens and closes: a closer that is in code closes nothing that
was opened in the prose before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

_RUN: Final = re.compile("`+")
"""A run of backticks: only one of the same length closes it."""
_MARK: Final = re.compile("`+|~{3,}")
"""Inline code, or a fence."""
# Markdown allows blanks, `>` and a list marker before a fence. The look-behind is bounded, for speed.
_LINE_LEAD: Final = re.compile(r"(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\Z")
_REACH: Final = 60
_PARAGRAPH_END: Final = re.compile(r"\n(?=[ \t\r]*\n)")
"""The end of a paragraph, which inline code cannot cross."""
_FENCE_LINE: Final = re.compile(r"^[ \t>]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
"""A line with a fence, with its mark and info string."""
_NESTED: Final = 40
"""Maximum number of lines with a mark that are searched for fences within a fence."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a text that is quoted."""

    start: int
    end: int
    certain: bool = True
    """Whether its end is where every reader of the text would see it."""
    closed: bool = True
    """Whether it has a closer; if not, it extends to the end of the text."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that begins with the mark of a fence."""

    start: int
    end: int
    mark: str
    bare: bool
    """Whether nothing follows the mark: only such a line closes a fence."""

    def may_close(self, mark: str) -> bool:
        return self.mark[0] == mark[0] and len(self.mark) >= len(mark)


@dataclass(frozen=True, slots=True)
class Code:
    """Finds the end of code in a text."""

    text: str
    cut: bool
    """Whether the text was truncated, so that a closer may be missing."""
    runs: Mapping[int, Sequence[int]]
    """Offsets of backtick runs by length: code within a line ends with a run of the same length."""
    lines: Sequence[_Line]
    """The lines that open or close a fence, in order."""
    breaks: Sequence[int]
    """The ends of paragraphs."""

    @classmethod
    def of(cls, text: str, *, cut: bool) -> Code:
        """The code of a text; its marks are indexed once."""
        runs: dict[int, list[int]] = {}
        for run in _RUN.finditer(text):
            runs.setdefault(len(run[0]), []).append(run.start())
        lines = [
            _Line(line.start(), line.end(), line["mark"], not line["info"].strip())
            for line in _FENCE_LINE.finditer(text)
        ]
        breaks = [end.start() for end in _PARAGRAPH_END.finditer(text)] if runs else []
        return cls(text, cut, runs, lines, breaks)

    def at(self, start: int, end: int) -> Region | None:
        """The code that the backticks or tildes at ``start:end`` open."""
        if end - start >= 3 and self._is_fence(start, end):
            return self._fence(start, end)
        return self._span(start, end) if self.text[start] == "`" else None

    def holding(self, place: int, since: int) -> Region | None:
        """The code that began after ``since`` and holds a place."""
        at = since
        while (mark := _MARK.search(self.text, at, place)) is not None:
            region = self.at(mark.start(), mark.end())
            if region and region.end > place:
                return region
            at = region.end if region else mark.end()
        return None

    def leaves_open(self, start: int, end: int) -> Region | None:
        """The fence that a part of the text opens, and that only what follows closes.

        A line that begins with a mark counts even if more follows: DeepSeek closes the fence in its calls so.
        """
        first = bisect_left(self.lines, start, key=_start)
        inside = self.lines[first : bisect_left(self.lines, end, key=_start)]
        if len(inside) % 2 == 0:
            return None
        closer = next((line for line in self._following(inside[-1]) if line.bare), None)
        return Region(start, closer.end, certain=False) if closer else None

    def _is_fence(self, start: int, end: int) -> bool:
        text = self.text
        if not _LINE_LEAD.search(text, max(0, start - _REACH), start):
            return False
        stop = text.find("\n", end)
        return text[start] == "~" or text.find("`", end, stop if stop >= 0 else len(text)) < 0

    def _fence(self, start: int, end: int) -> Region:
        """A fence; one that is opened again inside, with a language, may quote one more.

        Markdown knows no fence within a fence of the same length, but models write it. Where both readings
        have an end, the later end counts, and the region is not certain.
        """
        mark = self.text[start:end]
        first = depth = 0
        for line in islice(self._following(_Line(start, end, mark, bare=False)), _NESTED):
            if not line.bare:
                depth += 1
                continue
            first = first or line.end
            if depth == 0:
                return Region(start, line.end, certain=line.end == first)
            depth -= 1
        if first and not self.cut:
            return Region(start, first)
        return Region(start, len(self.text), certain=False, closed=False)

    def _following(self, opener: _Line) -> Iterator[_Line]:
        """The lines behind the opener of a fence that open or close one like it."""
        behind = range(bisect_left(self.lines, opener.end, key=_start), len(self.lines))
        return (self.lines[at] for at in behind if self.lines[at].may_close(opener.mark))

    def _span(self, start: int, end: int) -> Region | None:
        """Code within a line, or within its paragraph; an unmatched run quotes nothing (CommonMark)."""
        places = self.runs[end - start]
        index = bisect_left(places, end)
        paragraph = bisect_left(self.breaks, end)
        last = paragraph == len(self.breaks)
        stop = len(self.text) if last else self.breaks[paragraph]
        if index < len(places) and places[index] < stop:
            return Region(start, places[index] + end - start)
        return Region(start, stop, closed=False) if self.cut and last else None


def _start(line: _Line) -> int:
    return line.start
