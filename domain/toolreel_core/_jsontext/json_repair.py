r"""JSON as models write it: one tokenizer, with the repairs that are allowed as data.

A value is read strictly, except for the repairs that its :class:`Style` allows, and it comes with the
names of those that it needed. Truncated text is never completed: closers may be missing only before
the closing tag of a dialect, which proves that the model had finished.

>>> value_at(SearchedText("{'a': True, /* so */ 'b': [07, 'it\\'s',],}"), 0)
Value(tree={'a': True, 'b': [7, "it's"]}, end=42)
>>> value_at(SearchedText("{'a': 07}"), 0, Style(repairs=REPAIRS["safe"]))
Flaw(at=6, unfinished=False)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import inf, isinf, nan
from typing import Final, Literal, TypeAlias, get_args

from toolreel_core._jsontext.canonical import (
    MAX_DEPTH,
    ArgumentRepairs,
    Json,
    either,
    finite,
    integer,
    read,
    sound,
)
from toolreel_core._lazy_pattern import lazy_pattern

# fmt: off
Repair: TypeAlias = Literal[
    "bare_keys", "blanks", "comments", "control_characters", "escapes", "hash_comments", "missing_closers",
    "non_finite", "numbers", "python_strings", "repeated_keys", "single_quotes", "trailing_commas", "tuples",
    "unclosed_comments", "undefined", "words",
]
# fmt: on
"""Deviations from JSON that can be repaired. ``single_quotes`` includes Python's escapes within them;
``escapes``, any other escape; ``python_strings``, triple quotes and prefixes; ``numbers``, those
such as ``07``, ``+4``, ``.5`` and ``1_000``; ``repeated_keys``, of which the last one counts."""

# fmt: off
_SAFE: Final = frozenset[Repair]({
    "comments", "control_characters", "hash_comments", "non_finite", "repeated_keys", "single_quotes",
    "trailing_commas", "words",
})
# fmt: on
REPAIRS: Final[Mapping[ArgumentRepairs, frozenset[Repair]]] = {
    "strict": frozenset(),
    "safe": _SAFE,
    "lenient": _SAFE | frozenset[Repair]({"bare_keys"}),
}
"""What is repaired in the arguments of structured calls. Numbers that JSON does not have are read only
so that their error can name them."""

_NOT_IN_TEXT: Final = frozenset[Repair]({"bare_keys", "hash_comments", "non_finite", "undefined"})
_IN_TEXT: Final = frozenset[Repair](get_args(Repair)) - _NOT_IN_TEXT
"""What is repaired in calls that are written as text, where a dialect already shows what is meant."""

_MAX_DEPTH: Final = 65
"""Levels of nesting in a call as text: 64 in its arguments, as in structured calls, and the envelope."""

WORDS: Final[Mapping[str, tuple[Json, Repair | None]]] = {
    "true": (True, None),
    "false": (False, None),
    "null": (None, None),
    "True": (True, "words"),
    "False": (False, "words"),
    "None": (None, "words"),
    "undefined": (None, "undefined"),
    "NaN": (nan, "non_finite"),
    "Infinity": (inf, "non_finite"),
    "-Infinity": (-inf, "non_finite"),
}
"""The words that are values, and the repair that each needs: those of JSON, Python and JavaScript."""

_COMMENTS: Final[Mapping[str, tuple[str, Repair]]] = {
    "//": ("\n", "comments"),
    "/*": ("*/", "comments"),
    "#": ("\n", "hash_comments"),
}
"""Opener, closer and repair of each kind of comment."""

BLANK: Final = "\\s\ufeff\u200b\u200c\u200d\u2060ĠĊ"
"""White space for a character class: models put zero-width characters around JSON, and byte-level
tokenizers leak their signs for a blank (``Ġ``) and a line break (``Ċ``)."""

_ENDS: Final = frozenset(" \t\n\r,]}")
"""What stands behind a whole number or word of JSON."""
_SIGNS: Final = frozenset("{}[]:,<\"'")
"""Signs of JSON, or of a tag: where one stands, as in most places, nothing has to be skipped."""
# All of these are possessive: text from outside must not make them backtrack.
_BLANKS: Final = lazy_pattern(f"[{BLANK}]*+")
_JSON_BLANKS: Final = lazy_pattern(r"[ \t\n\r]*+")
"""White space of JSON, which is less than that of Python."""
_STRINGS: Final = {
    '"': lazy_pattern(r'(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": lazy_pattern(r"(?:[^'\\]++|\\.)*+'", re.DOTALL),
}
"""The rest of a string, with its closing mark, by the kind of mark."""
_CONTROL: Final = lazy_pattern(r"[\x00-\x1f]")
"""Characters that JSON requires to be escaped within a string."""
# Two escaped halves of a character are one escape; the longest forms come first.
_ESCAPE: Final = lazy_pattern(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)",
    re.DOTALL,
)
_CUT_ESCAPE: Final = lazy_pattern(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?|u[0-9a-fA-F]{0,3}|)\Z"
)
"""An escape that is not whole, or the first half of a pair of escapes, at the end of a text."""
_JSON_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
# A backslash before a line break continues the line in Python and JavaScript.
_LOOSE_ESCAPES: Final = {"'": "'", "`": "`", "\n": ""}
# The look-ahead keeps `1.2.3` and `2024-01-01x` from being read as a number with something behind it.
# Some groups are not possessive: before Python 3.11.5 (Debian 12 has 3.11.2), such a group that fails within
# keeps what it has read, so that `5.6e` would be a number (python/cpython#106052).
_JSON_NUMBER: Final = lazy_pattern(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
_NUMBER: Final = lazy_pattern(r"[-+]?(?:\d[\d_]*+(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?(?![\w.])")
_UNFINISHED: Final = lazy_pattern(r"[-+.\w]++\Z")
"""A number or word at the end of the text, which may have been cut."""
_BARE: Final = lazy_pattern(r"[^,{}\[\]()<>\"']++")
"""A value without quotes: up to the next sign of structure."""
_KEY: Final = lazy_pattern(r"(?:[^\W\d]|\$)[\w$]*+")
"""A key without quotes, as in JavaScript."""
_WORD: Final = lazy_pattern(r"-?[^\W\d]\w*+")
"""A word such as ``True``, ``None``, ``NaN`` or ``-Infinity``."""
_PREFIX: Final = lazy_pattern("[rRuU](?=[\"'])")
"""The prefix of a Python string."""
_LARGEST: Final = 0x10FFFF


_literal: Final = lru_cache(maxsize=64)(lambda needle: re.compile(re.escape(needle)))


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A text that remembers what was searched in it.

    The text is searched once per closer, however many openers ask for it. Otherwise a text of
    only openers would take quadratic time.
    """

    text: str
    _matches: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = field(
        default_factory=dict[re.Pattern[str], "tuple[int, re.Match[str] | None]"],
        init=False,
        compare=False,
        repr=False,
    )

    def search(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """The next match of a pattern.

        :param pattern: without look-behind, because a match may have been found from an earlier start
        """
        searched_from, found = self._matches.get(pattern, (len(self.text) + 1, None))
        if searched_from <= start and (found is None or start <= found.start()):
            return found
        found = pattern.search(self.text, start)
        self._matches[pattern] = (start, found)
        return found

    def find(self, needle: str, start: int) -> int:
        """The next place of a needle, or -1."""
        found = self.search(_literal(needle), start)
        return found.start() if found else -1


@dataclass(frozen=True, slots=True)
class Value:
    """A value and where it ends."""

    tree: Json
    end: int
    repairs: frozenset[Repair] = field(default=frozenset(), compare=False, repr=False)
    """The repairs without which there would be no value; none if it is JSON."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why there is no value."""

    at: int
    unfinished: bool
    """The text ended before the value did."""


@dataclass(frozen=True, slots=True)
class Style:
    """How values may differ from JSON: the repairs that are allowed, and the grammar of a dialect."""

    quote: str = ""
    """A token that stands on both sides of strings, as in ``<escape>text<escape>``."""
    colons: str = ":"
    """What may stand between a key and its value in parentheses, where keys may do without quotes."""
    words: bool = False
    """Whether keys and strings may do without quotes anywhere; such a value is a :class:`Bare` text."""
    closing: re.Pattern[str] | None = None
    """The closing tag, before which closers may be missing."""
    repairs: frozenset[Repair] = _IN_TEXT
    max_depth: int = _MAX_DEPTH
    """Maximum levels of nesting."""
    growing: bool = False
    """Whether the text is still being written, so that a string at its end may go on, and a number."""


_TEXT_CALL: Final = Style()


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a match that begins here; the place itself if there is none."""
    found = pattern.match(text, at)
    return found.end() if found else at


class Bare(str):
    """A value that stood without quotes: what it is, a schema has to say."""

    __slots__ = ()


class _NoValueError(Exception):
    def __init__(self, at: int, *, unfinished: bool = False) -> None:
        super().__init__(at)
        self.flaw = Flaw(at, unfinished)
        self.part: Json = None
        """The value so far; null if nothing of it is certain."""


def value_at(source: SearchedText, start: int, style: Style = _TEXT_CALL) -> Value | Flaw:
    """The value that begins here, after blanks and comments."""
    return _read_leniently(source, style, lambda reader: reader.value(reader.skip(start), style.max_depth))


def members_at(source: SearchedText, start: int, closer: str, style: Style) -> Value | Flaw:
    """The members of an object whose opener precedes this place, up to a closer of its own."""
    return _read_leniently(source, style, lambda reader: reader.members(start, closer, style.max_depth))


def _read_leniently(
    source: SearchedText, style: Style, read: Callable[[_Reader], tuple[Json, int]]
) -> Value | Flaw:
    reader = _Reader(source, style)
    try:
        tree, end = read(reader)
    except _NoValueError as error:
        return error.flaw
    return Value(tree, end, frozenset(reader.repairs))


_FENCE: Final = lazy_pattern(r"\s*+(?:`{3,}+|~{3,}+)[\w+-]*+[ \t]*+\n")
"""The opening line of a code block around the JSON."""
# JSON begins here, or, behind words, with the first brace.
_START: Final = lazy_pattern(r'\s*+(?=[\[{"\d-])|[^{]*+(?=\{)')


def partial_value(text: str, *, max_depth: int = MAX_DEPTH) -> Json:
    """The value of JSON text that is still being written; ``None`` if there is none yet, or it is not JSON.

    It is for showing only: nothing that runs or ends a run reads truncated text. A string that is open ends
    where the text does. An open number or word and a key without a value are left out, since they may become
    something else: ``1`` may become ``12``.

    >>> partial_value('{"title": "Pins and sh'), partial_value('{"n": 12, "tags": ["a", "b')
    ({'title': 'Pins and sh'}, {'n': 12, 'tags': ['a', 'b']})
    >>> partial_value('{"n": 1'), partial_value('Here you are: {"n": 1, ')
    ({}, {'n': 1})
    """
    body = text[end_of(_FENCE, text, 0) :]
    whole = either(read(body, max_depth=max_depth).map(lambda value: (value,)).alt(lambda _: None))
    start = _START.match(body)
    if whole is not None or start is None:
        return whole[0] if whole else None
    style = Style(repairs=frozenset({"repeated_keys"}), max_depth=max_depth, growing=True)
    reader = _Reader(SearchedText(body), style)
    try:
        return finite(reader.value(start.end(), max_depth)[0])
    except _NoValueError as error:
        return finite(error.part)


def skip(source: SearchedText, at: int, style: Style = _TEXT_CALL) -> int:
    """Where the blanks and comments that stand here end.

    An unclosed comment lasts to the end of the text.
    """
    return _Reader(source, style).skip(at)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A recursive-descent parser; each method reads what begins at a place, and returns where it ends."""

    source: SearchedText
    style: Style
    repairs: set[Repair] = field(default_factory=set["Repair"])
    """Those that were needed so far."""

    def need(self, repair: Repair, at: int) -> None:
        """Record a repair, or fail if it is not allowed."""
        if repair not in self.style.repairs:
            raise _NoValueError(at)
        self.repairs.add(repair)

    def skip(self, at: int) -> int:
        text, allowed = self.source.text, self.style.repairs
        while text[at : at + 1] not in _SIGNS:
            end = end_of(_JSON_BLANKS, text, at)
            if "blanks" in allowed and (wide := end_of(_BLANKS, text, end)) > end:
                self.repairs.add("blanks")
                end = wide
            at = self.comment(end)
            if at == end:
                break
        return at

    def comment(self, at: int) -> int:
        """Where the comment ends that begins here, if one does."""
        text, allowed = self.source.text, self.style.repairs
        if text[at : at + 1] not in {"/", "#"}:
            return at
        for opener, (closer, repair) in _COMMENTS.items():
            if text.startswith(opener, at) and repair in allowed:
                end = self.source.find(closer, at + len(opener))
                if end < 0 and closer != "\n":
                    if "unclosed_comments" not in allowed:
                        return at
                    self.repairs.add("unclosed_comments")
                self.repairs.add(repair)
                return len(text) if end < 0 else end + len(closer)
        return at

    def value(self, at: int, levels: int) -> tuple[Json, int]:
        text = self.source.text
        if self.style.quote and text.startswith(self.style.quote, at):
            return self.quoted(at + len(self.style.quote))
        first = text[at : at + 1]
        if first in {"{", "[", "("} and not levels:
            raise _NoValueError(at)
        match first:
            case "":
                raise self.no_value(at)
            case "{":
                return self.members(at + 1, "}", levels)
            case "[":
                return self.array(at + 1, "]", levels)
            case "(":
                self.need("tuples", at)
                return self.array(at + 1, ")", levels)
            case '"' | "'":
                return self.string(at)
            case _:
                scalar, end = self.scalar(at)
                if self.style.growing and text[end : end + 1] not in _ENDS:  # `1` may become `12`
                    raise self.no_value(end)
                return scalar, end

    def members(self, at: int, closer: str, levels: int) -> tuple[dict[str, Json], int]:
        members: dict[str, Json] = {}
        comma = -1
        loose = closer == ")" or self.style.words
        colons = self.style.colons if loose else ":"
        try:
            while not self.closes(at := self.skip(at), closer):
                begin = at
                key, at = self.key(at, loose=loose)
                at = self.skip(at)
                if (self.source.text[at : at + 1] or " ") not in colons:
                    raise self.no_value(at)
                if key in members:
                    self.need("repeated_keys", begin)
                try:
                    members[key], at = self.value(self.skip(at + 1), levels - 1)
                except _NoValueError as error:
                    members |= {} if error.part is None else {key: error.part}
                    raise
                comma, at = self.separated(at, closer)
            return members, self.end_container(at, closer, comma)
        except _NoValueError as error:
            error.part = members
            raise

    def array(self, at: int, closer: str, levels: int) -> tuple[list[Json], int]:
        items: list[Json] = []
        comma = -1
        try:
            while not self.closes(at := self.skip(at), closer):
                item, at = self.value(at, levels - 1)
                items.append(item)
                comma, at = self.separated(at, closer)
            return items, self.end_container(at, closer, comma)
        except _NoValueError as error:
            error.part = items if error.part is None else [*items, error.part]
            raise

    def closes(self, at: int, closer: str) -> bool:
        """Whether the closer stands here, or the closing tag in its stead."""
        closing = self.style.closing
        return self.source.text.startswith(closer, at) or bool(
            closing and closing.match(self.source.text, at)
        )

    def separated(self, at: int, closer: str) -> tuple[int, int]:
        """Where a comma stands, or -1, and where the next item or the closer begins."""
        at = self.skip(at)
        if self.source.text.startswith(",", at):
            return at, at + 1
        if not self.closes(at, closer):
            raise self.no_value(at)
        return -1, at

    def end_container(self, at: int, closer: str, comma: int) -> int:
        if comma >= 0:
            self.need("trailing_commas", comma)
        if self.source.text.startswith(closer, at):
            return at + 1
        self.need("missing_closers", at)
        return at

    def key(self, at: int, *, loose: bool) -> tuple[str, int]:
        text = self.source.text
        if self.style.quote and text.startswith(self.style.quote, at):
            return self.quoted(at + len(self.style.quote))
        if text[at : at + 1] in {'"', "'"}:
            return self.string(at)
        word = _KEY.match(text, at)
        if word is None or not (loose or "bare_keys" in self.style.repairs):
            raise self.no_value(at)
        if not loose:
            self.repairs.add("bare_keys")
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
        if mark == "'":
            self.need("single_quotes", at)
        if text.startswith(mark * 3, at) and "python_strings" in self.style.repairs:
            self.repairs.add("python_strings")
            end = self.source.find(mark * 3, at + 3)
            if end < 0:
                raise self.no_value(len(text))
            return self.unescaped(text[at + 3 : end], at, mark), end + 3
        found = _STRINGS[mark].match(text, at + 1)
        if found is None:
            error = self.no_value(len(text))
            if self.style.growing:
                error.part = self.unescaped(_CUT_ESCAPE.sub("", text[at + 1 :]), at, mark)
            raise error
        return self.unescaped(found[0][:-1], at, mark), found.end()

    def unescaped(self, content: str, at: int, mark: str) -> str:
        if _CONTROL.search(content):
            self.need("control_characters", at)
        if "\\" not in content:
            return content
        # Half of a character that was escaped alone could not be encoded later.
        return sound(_ESCAPE.sub(partial(self.meaning, at, mark), content))

    def meaning(self, at: int, mark: str, escape: re.Match[str]) -> str:
        code = escape[1]
        if code in _JSON_ESCAPES:
            return _JSON_ESCAPES[code]
        if len(code) == 11:
            pair = chr(int(code[1:5], 16)) + chr(int(code[7:], 16))
            return pair.encode("utf-16", "surrogatepass").decode("utf-16")
        point = int(code[1:], 16) if len(code) > 1 else -1
        if code[0] == "u" and point >= 0:
            return chr(point)
        known = 0 <= point <= _LARGEST
        if mark == '"' or not (known or code == "'"):
            self.need("escapes", at)
        return chr(point) if known else _LOOSE_ESCAPES.get(code, escape[0])

    def scalar(self, at: int) -> tuple[Json, int]:
        text = self.source.text
        if self.style.words:
            bare = _BARE.match(text, at)
            if bare is None:
                raise self.no_value(at)
            return Bare(bare[0].strip()), bare.end()
        if number := _NUMBER.match(text, at):
            return self.number(number[0], at), number.end()
        if prefix := _PREFIX.match(text, at):
            self.need("python_strings", at)
            return self.string(prefix.end())
        word = _WORD.match(text, at)
        if word and word[0] in WORDS:
            value, repair = WORDS[word[0]]
            if repair:
                self.need(repair, at)
            return value, word.end()
        raise self.no_value(end_of(_UNFINISHED, text, at))

    def number(self, digits: str, at: int) -> Json:
        if not _JSON_NUMBER.fullmatch(digits):
            self.need("numbers", at)
            digits = digits.replace("_", "")
        if set(digits) & set(".eE"):
            number = float(digits)
            if isinf(number):
                # It is kept, so that its siblings are read; what cannot be written is refused later.
                self.repairs.add("non_finite")
            return number
        try:
            return integer(digits)
        except ValueError:
            raise _NoValueError(at) from None

    def no_value(self, at: int) -> _NoValueError:
        return _NoValueError(at, unfinished=at >= len(self.source.text))
