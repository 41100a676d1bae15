"""Quotations: parts of a text in which no call is read, such as code, comments, quoted lines and results.

Whichever opens first wins: a fence inside an open call is data of the call, and a call inside an open fence
is a quotation.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from toolreel_core._jsontext.canonical import quote
from toolreel_core._text_calls.decoder_interface import Source
from toolreel_core._text_calls.reasoning import closer_of

_RUN: Final = re.compile("`+")
# Markdown allows blanks, `>` and a list marker before a fence. The look-behind is bounded, for speed.
_LINE_LEAD: Final = re.compile(r"(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\Z")
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n")
_REACH: Final = 60
_REST: Final = re.compile(r"\s*(?:[<\[][^<>]*)?\Z")
"""The rest of a truncated closing tag."""
_MARKS: Final = {'"': '"', "'": "'", "“": "”", "«": "»", "‘": "’"}


@dataclass(frozen=True, slots=True)
class Quotations:
    """Finds the end of each quotation in a text."""

    source: Source
    runs: Mapping[int, Sequence[int]]
    """Offsets of backtick runs by length: inline code ends with a run of the same length."""

    @classmethod
    def of(cls, source: Source) -> Quotations:
        """The quotations of a text; its backticks are indexed once."""
        runs: dict[int, list[int]] = {}
        for run in _RUN.finditer(source.text):
            runs.setdefault(len(run[0]), []).append(run.start())
        return cls(source, runs)

    def code(self, start: int, end: int) -> int:
        """The end of the code whose opening backticks or tildes are at ``start:end``."""
        if end - start >= 3 and self._is_fence(start, end):
            return self._end_of_fence(start, end)
        return self._end_of_span(start, end) if self.source.text[start] == "`" else end

    def until(self, closer: str, start: int) -> int:
        """The end of the next closer; an unclosed quotation extends to the end of the text."""
        place = self.source.find(closer, start)
        return len(self.source.text) if place < 0 else place + len(closer)

    def line(self, start: int) -> int:
        """The end of the line."""
        place = self.source.find("\n", start)
        return len(self.source.text) if place < 0 else place

    def thought(self, opener: str, end: int) -> int:
        """The end of reasoning; unclosed reasoning quotes nothing, unless the text is truncated."""
        close = self.source.search(re.compile(re.escape(closer_of(opener)), re.IGNORECASE), end)
        if close:
            return close.end()
        return len(self.source.text) if self.source.cut else end

    def _is_fence(self, start: int, end: int) -> bool:
        text = self.source.text
        if not _LINE_LEAD.search(text, max(0, start - _REACH), start):
            return False
        stop = self.line(end)
        return text[start] == "~" or text.find("`", end, stop) < 0

    def _end_of_fence(self, start: int, end: int) -> int:
        mark = self.source.text[start]
        closing = re.compile(rf"^[ \t>]*{mark}{{{end - start},}}[ \t]*$", re.MULTILINE)
        close = closing.search(self.source.text, end)
        return close.end() if close else len(self.source.text)

    def _end_of_span(self, start: int, end: int) -> int:
        """The end of inline code, within its paragraph; an unmatched run quotes nothing (CommonMark)."""
        places = self.runs[end - start]
        index = bisect_left(places, end)
        paragraph = self.source.search(_PARAGRAPH_END, end)
        stop = paragraph.start() if paragraph else len(self.source.text)
        if index < len(places) and places[index] < stop:
            return places[index] + end - start
        return stop if self.source.cut and not paragraph else end


def in_quotation_marks(source: Source, start: int, end: int) -> bool:
    """Whether the text at ``start:end`` is in quotation marks."""
    closer = _MARKS.get(source.text[start - 1 : start] if start else "")
    if closer is None:
        return False
    if source.text.startswith(closer, end):
        return True
    return source.cut and _REST.match(source.text, end) is not None


@runtime_checkable
class Searchable(Protocol):
    """A collection of texts with an index, faster than a search through all of them."""

    def among(self, *words: str) -> Iterable[str]:
        """Candidate texts: at least all that contain one of the words."""
        ...


def was_said(text: str, earlier: Sequence[str]) -> bool:
    r"""Whether earlier text contains this text verbatim, also as part of a JSON string.

    >>> was_said('a "b"', [r'{"page":"a \"b\""}'])
    True
    """
    inside_json = quote(text)[1:-1]
    candidates = earlier.among(text, inside_json) if isinstance(earlier, Searchable) else earlier
    return any(text in before or inside_json in before for before in candidates)
