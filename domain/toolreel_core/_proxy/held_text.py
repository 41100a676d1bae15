"""Text that passes at once, and text that is held back because a call may be in it.

Everything before the first sign of a call is an answer, and passes. At a sign, such as the opening of a tag,
the text waits until it is known: most signs turn out to be something else within a few characters (an HTML
tag, a link), and the text goes on. If it is the markup of a call, of a thought or of a result, the rest waits
for the end of the reply, where the same reader as always decides what it was.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from pyrsistent import PVector, pvector

from toolreel_core._text_calls import BARE, has_think_tags
from toolreel_core._text_calls import QUOTATION_OPENERS as QUOTATIONS

_LOOKAHEAD: Final = 120
"""Characters after which a sign that is no marker yet won't become one; the longest marker is shorter."""
_WORDS: Final = ("functools[", "function call<", "to=", "observation:")
"""Markers that begin with a letter."""
_SIGNS: Final = rf"<[\w|｜‖!/]?|\[[tbe/cq]?|\][<~]?|✿|(?<![^\W_])(?:{'|'.join(map(re.escape, _WORDS))})"
_SIGN: Final = re.compile(_SIGNS, re.IGNORECASE)
"""A sign that may begin a call in text; what follows it is held back until that is certain."""
_BARE_SIGN: Final = re.compile(rf"[{{\[`~<>]|^(?:Action|Thought)|{_SIGNS}", re.IGNORECASE | re.MULTILINE)
"""Where a message may begin to be one call as a whole, in dialects without markers."""
_BRACKETED: Final = ("[tool", "[/tool", "[think", "[/think", "[begin final", "[end final", "[e~")
"""The beginnings of markers in brackets: a link is none of them."""
_TAG: Final = re.compile(r"</?\w[^<>|]*>")
"""A tag that is closed: if it is no marker now, it never is."""
_NEVER: Final = re.compile(r"<[^\w|｜‖!/]|\[[^tbe/cq]|\][^<~]", re.IGNORECASE)
"""Characters that no marker begins with."""
_PLAIN_KINDS: Final = frozenset(QUOTATIONS)
_BARE_WORDS: Final = (*_WORDS, "action", "thought")
_CALL_KEYS: Final = ('{"name', '{"function', '{"tool', '{"type', '{"arguments', '{"parameters')
"""How a call begins whose opening tag a server has removed."""
_BLANKS: Final = " \t\r\n\ufeff\u200b\u2060"
_NO_PIECES: Final[PVector[str]] = pvector()
_LONGEST_TAIL: Final = 4_096
"""Characters, nearly all of them blanks, after which the rest waits for the end: reading them again with each
piece would take quadratic time."""

Opening: TypeAlias = Literal["call", "undecided", "other"]
"""What the beginning of a message says of it."""


@dataclass(frozen=True, slots=True)
class HeldText:
    """The state of a text that arrives in pieces.

    >>> text, shown = HeldText(("hermes_json",)).feed("Looking. <tool_c")
    >>> shown
    'Looking.'
    """

    dialects: tuple[str, ...] = ()
    """The dialects that will be read; without any, everything passes."""
    known: Collection[str] = ()
    """Names of tools: a message may begin with one."""
    tail: str = ""
    """The end of the text so far, which may be the beginning of a marker."""
    waiting: PVector[str] = field(default=_NO_PIECES)
    """What follows a marker: it waits for the end."""
    begun: bool = False
    """Whether any text has passed."""

    def feed(self, text: str) -> tuple[HeldText, str]:
        """The state after the next piece, and the text that may be shown now."""
        if not self.dialects:
            return self, text
        if self.waiting:
            return self._with(self.tail, self.waiting.append(text)), ""
        whole = self.tail + text
        end, marked = self._safe(whole)
        # Blanks before a call, and at both ends of a message, are not part of what the model says.
        shown = whole[:end].rstrip(_BLANKS)
        shown = shown if self.begun else shown.lstrip(_BLANKS)
        if not shown:
            return self._held("", whole, marked=marked, begun=self.begun)
        kept = whole[len(whole[:end].rstrip(_BLANKS)) :]
        return self._held(shown, kept, marked=marked, begun=True)

    def _held(self, shown: str, kept: str, *, marked: bool, begun: bool) -> tuple[HeldText, str]:
        marked = marked or len(kept) > _LONGEST_TAIL
        waiting = pvector([kept]) if marked else _NO_PIECES
        return HeldText(self.dialects, self.known, "" if marked else kept, waiting, begun), shown

    def _with(self, tail: str, waiting: PVector[str]) -> HeldText:
        return HeldText(self.dialects, self.known, tail, waiting, self.begun)

    def _safe(self, text: str) -> tuple[int, bool]:
        """How much of a text is surely no part of a call, and whether a marker follows it."""
        if not self.begun and (opening := self._opening(text)) != "other":
            return 0, opening == "call"
        bare = not _BARE.isdisjoint(self.dialects)
        sign = _BARE_SIGN if bare else _SIGN
        at = 0
        while found := sign.search(text, at):
            place = found.start()
            if bare and text[place] in _WHOLE:
                return place, True
            if _is_marker(text, place):
                return place, True
            if not _is_dismissed(text, place):
                return place, False
            at = place + 1
        return len(text) - _overlap(text, _BARE_WORDS if bare else _WORDS), False

    def _opening(self, text: str) -> Opening:
        """Whether a message begins like JSON that is a call, or with the name of a tool."""
        dense = "".join(text[:_LOOKAHEAD].split()).strip(_BLANKS)
        if dense.startswith(_CALL_KEYS):
            return "call"
        if any(key.startswith(dense) for key in _CALL_KEYS):
            return "undecided"
        if "glm4_name_json" not in self.dialects:
            return "other"
        first, newline, _ = text.lstrip(_BLANKS).partition("\n")
        if newline:
            return "call" if first.rstrip(_BLANKS) in self.known else "other"
        return "undecided" if any(name.startswith(first.rstrip(_BLANKS)) for name in self.known) else "other"


_BARE: Final = frozenset(BARE)
_WHOLE: Final = frozenset("{[`~<>AaTt")
"""First characters after which a bare dialect reads the rest of a message as a whole."""


def _is_marker(text: str, place: int) -> bool:
    from toolreel_core._text_calls import mark_at  # noqa: PLC0415 - decoders load slowly

    if has_think_tags(text[place : place + _LOOKAHEAD]):
        return True
    mark = mark_at(text, place)
    return mark is not None and mark.lastgroup is not None and not _quotes(mark)


def _quotes(mark: re.Match[str]) -> bool:
    """Whether a marker only opens a quotation, in which no call is read."""
    return any(mark.groupdict().get(kind) is not None for kind in _PLAIN_KINDS)


def _is_dismissed(text: str, place: int) -> bool:
    """Whether a sign is none of a marker, whatever follows."""
    if text[place] == "[":
        begun = text[place : place + _LOOKAHEAD].lower()
        if not any(each.startswith(begun) or begun.startswith(each) for each in _BRACKETED):
            return True
    return (
        len(text) - place > _LOOKAHEAD
        or _NEVER.match(text, place) is not None
        or _TAG.match(text, place) is not None
    )


def _overlap(text: str, words: tuple[str, ...]) -> int:
    """The length of the longest end of a text with which one of the words begins."""
    end = text[-_LONGEST:].lower()
    return next(
        (
            size
            for size in range(len(end), 0, -1)
            if any(word.startswith(end[len(end) - size :]) for word in words)
            and not text[: len(text) - size][-1:].isalnum()
        ),
        0,
    )


_LONGEST: Final = max(map(len, _BARE_WORDS))
