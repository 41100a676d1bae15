"""The text of a streamed reply: what passes at once, and what is held back because a call may be in it.

At a sign, such as the opening of a tag, the text waits until it is known: most turn out to be something else
within a few characters (an HTML tag, a link). After the markup of a call, of a thought or of a result, the
rest waits for the end of the reply, where the same reader as always decides what it was.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, TypeAlias

from toolreel_core._text_calls import BARE, has_think_tags
from toolreel_core._text_calls import QUOTATION_OPENERS as QUOTATIONS

_LOOKAHEAD = 120
"""Characters after which a sign that is not a marker yet won't become one; the longest marker is shorter."""
_WORDS = ("functools[", "function call<", "to=", "observation:")
"""Markers that begin with a letter."""
_SIGNS = rf"[<\[\]✿]|(?<![^\W_])(?:{'|'.join(map(re.escape, _WORDS))})"
_SIGN = re.compile(_SIGNS, re.IGNORECASE)
"""A sign that may begin a call in text; what follows it is held back until that is certain."""
_BARE_SIGN = re.compile(rf"[{{\[`~<>]|^(?:Action|Thought)|{_SIGNS}", re.IGNORECASE | re.MULTILINE)
"""Where a message may begin to be one call as a whole, in dialects without markers."""
_BRACKETED = ("[tool", "[/tool", "[think", "[/think", "[begin final", "[end final", "[e~")
"""The beginnings of markers in brackets: a link is none of them."""
_TAG = re.compile(r"</?\w[^<>|]*>")
"""A tag that is closed: if it is not a marker now, it never is."""
_NEVER = re.compile(r"<[^\w|｜‖/]|\][^<~]")
"""Characters that no marker begins with."""
_BARE_WORDS = (*_WORDS, "action", "thought")
_CALL_KEYS = ('{"name', '{"function', '{"tool', '{"type', '{"arguments', '{"parameters')
"""How a call begins whose opening tag a server has removed."""
# The last three are invisible, and strip() without arguments leaves them.
_BLANKS = " \t\r\n\ufeff\u200b\u2060"
_LONGEST_TAIL = 4_096
"""Characters, nearly all of them blanks, after which the rest waits for the end: reading them again with each
piece would take quadratic time."""

Opening: TypeAlias = Literal["call", "undecided", "other"]
"""What the beginning of a message says of it."""


class HeldText:
    """A text that arrives in pieces.

    >>> HeldText(("hermes_json",)).feed("Looking. <tool_c")
    'Looking.'

    :param dialects: the dialects that will be read; without any, everything passes
    :param known: names of tools: a message may begin with one
    """

    def __init__(self, dialects: tuple[str, ...], known: Collection[str] = ()) -> None:
        self._dialects = dialects
        self._known = known
        self._begun = False
        """Whether any text has passed."""
        self._tail = ""
        """The end of the text so far, which may be the beginning of a marker."""
        self._waits = False
        """Whether all further text waits for the end."""

    def feed(self, text: str) -> str:
        if not self._dialects or self._waits:
            return "" if self._waits else text
        whole = self._tail + text
        end, self._waits = self._safe_length_and_marker(whole)
        # Blanks before a call, and at both ends of a message, are not part of what the model says.
        safe = whole[:end].rstrip(_BLANKS)
        shown = safe if self._begun else safe.lstrip(_BLANKS)
        self._tail = whole[len(safe) :] if shown else whole
        self._waits = self._waits or len(self._tail) > _LONGEST_TAIL
        self._begun = self._begun or bool(shown)
        return shown

    def restart(self) -> None:
        """Begin another text, which goes on after what has passed."""
        self._tail, self._waits = "", False

    def _safe_length_and_marker(self, text: str) -> tuple[int, bool]:
        """How much of a text is surely no part of a call, and whether a marker follows it."""
        if not self._begun and (opening := self._opening_kind(text)) != "other":
            return 0, opening == "call"
        bare = not _BARE.isdisjoint(self._dialects)
        sign = _BARE_SIGN if bare else _SIGN
        at = 0
        while found := sign.search(text, at):
            place = found.start()
            if (bare and text[place] in _WHOLE) or _is_marker(text, place):
                return place, True
            if not _is_surely_no_marker(text, place):
                return place, False
            at = place + 1
        return len(text) - _end_overlap_length(text, _BARE_WORDS if bare else _WORDS), False

    def _opening_kind(self, text: str) -> Opening:
        """Whether a message begins like JSON that is a call, or with the name of a tool."""
        dense = "".join(text[:_LOOKAHEAD].split()).strip(_BLANKS)
        if dense.startswith(_CALL_KEYS):
            return "call"
        if any(key.startswith(dense) for key in _CALL_KEYS):
            return "undecided"
        if "glm4_name_json" not in self._dialects:
            return "other"
        first, newline, _ = text.lstrip(_BLANKS).partition("\n")
        if newline:
            return "call" if first.rstrip(_BLANKS) in self._known else "other"
        return "undecided" if any(name.startswith(first.rstrip(_BLANKS)) for name in self._known) else "other"


_BARE = frozenset(BARE)
_WHOLE = frozenset("{[`~<>AaTt")
"""First characters after which a bare dialect reads the rest of a message as a whole."""


def _is_marker(text: str, place: int) -> bool:
    from toolreel_core._text_calls import marker_match_at  # noqa: PLC0415 - decoders load slowly

    if has_think_tags(text[place : place + _LOOKAHEAD]):
        return True
    mark = marker_match_at(text, place)
    # The marker of a quotation opens nothing in which a call is read.
    return mark is not None and mark.lastgroup is not None and not any(map(mark.groupdict().get, QUOTATIONS))


def _is_surely_no_marker(text: str, place: int) -> bool:
    """Whether a sign cannot begin a marker, whatever follows."""
    if text[place] == "[":
        begun = text[place : place + _LOOKAHEAD].lower()
        if not any(each.startswith(begun) or begun.startswith(each) for each in _BRACKETED):
            return True
    return (
        len(text) - place > _LOOKAHEAD
        or _NEVER.match(text, place) is not None
        or _TAG.match(text, place) is not None
    )


def _end_overlap_length(text: str, words: tuple[str, ...]) -> int:
    end = text[-_LONGEST:].lower()
    return next(
        (
            size
            for size in range(len(end), 0, -1)
            if any(word.startswith(end[-size:]) for word in words) and not text[:-size][-1:].isalnum()
        ),
        0,
    )


_LONGEST = max(map(len, _BARE_WORDS))
