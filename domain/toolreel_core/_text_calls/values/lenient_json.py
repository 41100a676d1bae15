r"""JSON as models write it: repaired where the meaning is plain, refused where it is not.

What is read besides JSON: trailing commas, single quotes, Python's
literals, tuples and numbers such as ``07``, ``//`` and ``/* */`` comments, raw line breaks in
strings, unknown escapes, and closers that are missing before the closing tag.

>>> from toolreel_core._text_calls.known_tools import Offered
>>> from toolreel_core._text_calls.source import Source
>>> text = "{'a': True, /* so */ 'b': [07, 'it\\'s',],}"
>>> value_at(Source(text, Offered(frozenset()), frozenset(), cut=False), 0)
Value(tree={'a': True, 'b': [7, "it's"]}, end=42)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.decoder import MAX_DEPTH
from toolreel_core._text_calls.source import Source

__all__ = ["BLANK", "Bare", "Flaw", "Style", "Value", "members_at", "skip", "value_at"]

BLANK: Final = "\\s\ufeff\u200b\u200c\u200d\u2060ĠĊ"
"""White space for a character class: models put zero-width characters around JSON, and tokenizers leak."""

_BLANKS: Final = re.compile(f"[{BLANK}]*")
_STRINGS: Final = {
    '"': re.compile(r'[^"\\]*(?:\\.[^"\\]*)*+"', re.DOTALL),
    "'": re.compile(r"[^'\\]*(?:\\.[^'\\]*)*+'", re.DOTALL),
}
_ESCAPE: Final = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_ESCAPED: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "\n": "",
    **{each: each for each in "\"'\\/`"},
}
_NUMBER: Final = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_UNFINISHED: Final = re.compile(r"[-+.\w]+\Z")
_BARE: Final = re.compile(r"[^,{}\[\]()<>\"']+")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_WORDS: Final[Mapping[str, Json]] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}
_PREFIX: Final = re.compile("[rRuU](?=[\"'])")


@dataclass(frozen=True, slots=True)
class Value:
    """A value and where it ends."""

    tree: Json
    end: int


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why there is no value."""

    at: int
    unfinished: bool
    """The text ended before the value did."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a dialect's values differ from JSON."""

    quote: str = ""
    """A token that stands on both sides of strings, as in ``<escape>text<escape>``."""
    colons: str = ":"
    """What may stand between a key and its value in parentheses, where keys may do without quotes."""
    words: bool = False
    """Whether keys and strings may do without quotes anywhere; such a value is a :class:`Bare` text."""
    closing: re.Pattern[str] | None = None
    """The closing tag, before which closers may be missing."""


class Bare(str):
    """A value that stood without quotes: what it is, a schema has to say."""

    __slots__ = ()


class _NoValueError(Exception):
    def __init__(self, at: int, *, unfinished: bool = False) -> None:
        super().__init__(at)
        self.flaw = Flaw(at, unfinished)


def value_at(source: Source, start: int, style: Style = Style()) -> Value | Flaw:
    """The value that begins here, after blanks and comments."""
    try:
        start = skip(source, start)
        return Value(*_Reader(source, style).value(start, MAX_DEPTH))
    except _NoValueError as error:
        return error.flaw


def members_at(source: Source, start: int, closer: str, style: Style) -> Value | Flaw:
    """The members of an object whose opener stands before this place, up to a closer of its own."""
    try:
        return Value(*_Reader(source, style).members(start, closer, MAX_DEPTH))
    except _NoValueError as error:
        return error.flaw


def skip(source: Source, at: int) -> int:
    """Where the blanks and comments that stand here end.

    A comment that never ends makes the text end where it begins.
    """
    while True:
        found = _BLANKS.match(source.text, at)
        at = found.end() if found else at
        if source.text.startswith("//", at):
            end = source.find("\n", at)
        elif source.text.startswith("/*", at):
            end = source.find("*/", at + 2)
        else:
            return at
        if end < 0:
            return len(source.text)
        at = end + 1 if source.text[end] == "\n" else end + 2


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    style: Style

    def value(self, at: int, depth: int) -> tuple[Json, int]:
        """The value that begins exactly here, and where it ends."""
        text = self.source.text
        if depth < 0:
            raise _NoValueError(at)
        if self.style.quote and text.startswith(self.style.quote, at):
            return self.quoted(at + len(self.style.quote))
        match text[at : at + 1]:
            case "":
                raise _NoValueError(at, unfinished=True)
            case "{":
                return self.members(at + 1, "}", depth)
            case "[":
                return self.array(at + 1, "]", depth)
            case "(":
                return self.array(at + 1, ")", depth)
            case '"' | "'":
                return self.string(at)
            case _:
                return self.scalar(at)

    def members(self, at: int, closer: str, depth: int) -> tuple[dict[str, Json], int]:
        members: dict[str, Json] = {}
        loose = closer == ")" or self.style.words
        colons = self.style.colons if loose else ":"
        while not self.closes(at := skip(self.source, at), closer):
            key, at = self.key(at, loose=loose)
            at = skip(self.source, at)
            if (self.source.text[at : at + 1] or " ") not in colons:
                raise self.no_value(at)
            members[key], at = self.value(skip(self.source, at + 1), depth - 1)
            at = self.separated(at, closer)
        return members, at + self.source.text.startswith(closer, at)

    def array(self, at: int, closer: str, depth: int) -> tuple[list[Json], int]:
        items: list[Json] = []
        while not self.closes(at := skip(self.source, at), closer):
            item, at = self.value(at, depth - 1)
            items.append(item)
            at = self.separated(at, closer)
        return items, at + self.source.text.startswith(closer, at)

    def closes(self, at: int, closer: str) -> bool:
        """Whether the closer stands here, or the closing tag in its stead."""
        closing = self.style.closing
        return self.source.text.startswith(closer, at) or bool(
            closing and closing.match(self.source.text, at)
        )

    def separated(self, at: int, closer: str) -> int:
        """Where the next item begins, or the closer stands."""
        at = skip(self.source, at)
        if self.source.text.startswith(",", at):
            return at + 1
        if not self.closes(at, closer):
            raise self.no_value(at)
        return at

    def key(self, at: int, *, loose: bool) -> tuple[str, int]:
        text = self.source.text
        if self.style.quote and text.startswith(self.style.quote, at):
            return self.quoted(at + len(self.style.quote))
        if text[at : at + 1] in {'"', "'"}:
            return self.string(at)
        word = _WORD.match(text, at) if loose else None
        if word is None:
            raise self.no_value(at)
        return word[0], word.end()

    def quoted(self, at: int) -> tuple[str, int]:
        """A string up to the dialect's own quote, verbatim."""
        end = self.source.find(self.style.quote, at)
        if end < 0:
            raise self.no_value(len(self.source.text))
        return self.source.text[at:end], end + len(self.style.quote)

    def string(self, at: int) -> tuple[str, int]:
        text = self.source.text
        mark = text[at]
        if text.startswith(mark * 3, at):
            end = self.source.find(mark * 3, at + 3)
            if end < 0:
                raise self.no_value(len(text))
            return _unescaped(text[at + 3 : end]), end + 3
        found = _STRINGS[mark].match(text, at + 1)
        if found is None:
            raise self.no_value(len(text))
        return _unescaped(found[0][:-1]), found.end()

    def scalar(self, at: int) -> tuple[Json, int]:
        text = self.source.text
        if self.style.words:
            bare = _BARE.match(text, at)
            if bare is None:
                raise self.no_value(at)
            return Bare(bare[0].strip()), bare.end()
        if number := _NUMBER.match(text, at):
            try:
                return _number(number[0].replace("_", "")), number.end()
            except ValueError:
                raise _NoValueError(at) from None
        if prefix := _PREFIX.match(text, at):
            return self.string(prefix.end())
        word = _WORD.match(text, at)
        if word and word[0] in _WORDS:
            return _WORDS[word[0]], word.end()
        unfinished = _UNFINISHED.match(text, at)
        raise self.no_value(unfinished.end() if unfinished else at)

    def no_value(self, at: int) -> _NoValueError:
        return _NoValueError(at, unfinished=at >= len(self.source.text))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_meaning, text) if "\\" in text else text


def _meaning(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 11:
        return (
            (chr(int(code[1:5], 16)) + chr(int(code[7:], 16)))
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, escape[0])


def _number(digits: str) -> Json:
    return float(digits) if set(digits) & set(".eE") else int(digits)
