"""JSON as models write it: one tokenizer, with the repairs that are allowed as data.

A value is read strictly, except for the repairs that its :class:`Style` allows, whose names it comes with.
Truncated text is never completed: closers may be missing only before the closing tag of a dialect, which
proves that the model had finished, unless a comma before it announces more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import inf, isinf, nan
from typing import Literal, TypeAlias, get_args

from toolreel_core._jsontext.canonical import (
    MAX_DEPTH,
    ArgumentRepairs,
    Json,
    encodable_text,
    integer_of_digits,
    read_json,
    without_non_finite_numbers,
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
_SAFE = frozenset[Repair]({
    "comments", "control_characters", "hash_comments", "non_finite", "repeated_keys", "single_quotes",
    "trailing_commas", "words",
})
# fmt: on
REPAIRS: Mapping[ArgumentRepairs, frozenset[Repair]] = {
    "strict": frozenset(),
    "safe": _SAFE,
    "lenient": _SAFE | frozenset[Repair]({"bare_keys"}),
}
"""What is repaired in the arguments of structured calls. Numbers that JSON does not have are read only
so that their error can name them."""

_NOT_IN_TEXT = frozenset[Repair]({"bare_keys", "hash_comments", "non_finite", "undefined"})
_IN_TEXT = frozenset[Repair](get_args(Repair)) - _NOT_IN_TEXT
"""What is repaired in calls that are written as text, where a dialect already shows what is meant."""

_MAX_DEPTH = 65
"""Levels of nesting in a call as text: 64 in its arguments, as in structured calls, and the envelope."""

LITERALS: Mapping[str, tuple[Json, Repair | None]] = {
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

_COMMENTS: Mapping[str, tuple[str, Repair]] = {
    "//": ("\n", "comments"),
    "/*": ("*/", "comments"),
    "#": ("\n", "hash_comments"),
}

BLANK = "\\s\ufeff\u200b\u200c\u200d\u2060ĠĊ"
"""White space for a character class: models put zero-width characters around JSON, and byte-level
tokenizers leak their signs for a blank (``Ġ``) and a line break (``Ċ``)."""

_SIGNS = frozenset("{}[]:,<\"'")
"""Signs of JSON, or of a tag: where one stands, as in most places, nothing has to be skipped."""
# All of these are possessive: text from outside must not make them backtrack.
_BLANKS = lazy_pattern(f"[{BLANK}]*+")
_JSON_BLANKS = lazy_pattern(r"[ \t\n\r]*+")
_STRINGS = {
    '"': lazy_pattern(r'(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": lazy_pattern(r"(?:[^'\\]++|\\.)*+'", re.DOTALL),
}
"""The rest of a string, with its closing mark, by the kind of mark."""
_CONTROL = lazy_pattern(r"[\x00-\x1f]")
# Two escaped halves of a character are one escape; the longest forms come first.
_ESCAPE = lazy_pattern(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)",
    re.DOTALL,
)
_JSON_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
# A backslash before a line break continues the line in Python and JavaScript.
_LOOSE_ESCAPES = {"'": "'", "`": "`", "\n": ""}
# Some groups are not possessive: before Python 3.11.5 (Debian 12 has 3.11.2), such a group that fails within
# keeps what it has read, so that `5.6e` would be a number (python/cpython#106052).
_JSON_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
# The look-ahead keeps `1.2.3` and `2024-01-01x` from being read as a number with something behind it.
_NUMBER = lazy_pattern(r"[-+]?(?:\d[\d_]*+(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?(?![\w.])")
_UNFINISHED = lazy_pattern(r"[-+.\w]++\Z")
"""A word or number that ends with the text, and so may have been cut."""
_BARE = lazy_pattern(r"[^,{}\[\]()<>\"']++")
"""A value without quotes, as Gemma writes it."""
_KEY = lazy_pattern(r"(?:[^\W\d]|\$)[\w$]*+")
_WORD = lazy_pattern(r"-?[^\W\d]\w*+")
_PREFIX = lazy_pattern("[rRuU](?=[\"'])")
_LARGEST = 0x10FFFF
_literal = lru_cache(maxsize=64)(lambda needle: re.compile(re.escape(needle)))


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A text that is searched once per closer: per opener, one of only openers would take quadratic time."""

    text: str
    _matches: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = field(
        default_factory=dict[re.Pattern[str], "tuple[int, re.Match[str] | None]"],
        init=False,
        compare=False,
        repr=False,
    )

    def search(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """The next match of a pattern; the last match of each is remembered, and serves starts before it."""
        searched_from, found = self._matches.get(pattern, (len(self.text) + 1, None))
        if searched_from <= start and (found is None or start <= found.start()):
            return found
        found = pattern.search(self.text, start)
        self._matches[pattern] = (start, found)
        return found

    def end_of_next_match(self, pattern: re.Pattern[str], start: int) -> int:
        found = self.search(pattern, start)
        return found.end() if found else len(self.text)

    def find(self, needle: str, start: int) -> int:
        found = self.search(_literal(needle), start)
        return found.start() if found else -1


@dataclass(frozen=True, slots=True)
class Value:
    tree: Json
    end: int
    repairs: frozenset[Repair] = field(default=frozenset(), compare=False, repr=False)
    """The repairs without which there would be no value; none if it is JSON."""


@dataclass(frozen=True, slots=True)
class Flaw:
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


_TEXT_CALL = Style()


def end_of_match(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a match that begins here; the place itself if there is none."""
    found = pattern.match(text, at)
    return found.end() if found else at


class Bare(str):
    """A value that stood without quotes: what it is, a schema has to say."""

    __slots__ = ()


class _NoValueError(Exception):
    """There is no value: the text is wrong at a place, or ends there."""

    def __init__(self, at: int, *, unfinished: bool) -> None:
        super().__init__(at)
        self.flaw = Flaw(at, unfinished)


def value_at(source: SearchedText, start: int, style: Style = _TEXT_CALL) -> Value | Flaw:
    found: list[Json] = []
    reader = _Reader(source, start, style)
    try:
        reader.skip_blanks()
        reader.read_value(found.append, style.max_depth)
    except _NoValueError as error:
        return error.flaw
    return Value(found[0], reader.at, frozenset(reader.repairs))


def members_at(source: SearchedText, start: int, closer: str, style: Style) -> Value | Flaw:
    """The members of an object whose opener precedes this place, up to a closer of its own."""
    members: dict[str, Json] = {}
    reader = _Reader(source, start, style)
    try:
        reader.read_members(members, closer, style.max_depth)
    except _NoValueError as error:
        return error.flaw
    return Value(members, reader.at, frozenset(reader.repairs))


def end_of_blanks(source: SearchedText, at: int, style: Style = _TEXT_CALL) -> int:
    """Where the blanks and comments that stand here end; an unclosed comment lasts to the end of the text."""
    reader = _Reader(source, at, style)
    reader.skip_blanks()
    return reader.at


_FENCE = lazy_pattern(r"\s*+(?:`{3,}+|~{3,}+)[\w+-]*+[ \t]*+\n")
# JSON begins here, or, behind words, with the first brace.
_START = lazy_pattern(r'\s*+(?=[\[{"\d-])|[^{]*+(?=\{)')
# Half of a character that is escaped as two is not sound, and so is left out with the escape that is cut.
_STRING = lazy_pattern(
    r'"(?P<sound>(?:[^"\\]++|\\[^u]|\\u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    r'|(?![dD][89abAB])[0-9a-fA-F]{4}))*+)(?:[^"\\]++|\\.)*+\\?(?P<closer>"?)',
    re.DOTALL,
)
"""A string, up to its end or that of the text, and what of it is whole."""
_OPEN_WORD = lazy_pattern(r"(?<![-+.\w])[-+.\w]++\Z")
"""A number or word that may go on; without the look-behind, a search would try each of its letters."""


def partial_value(text: str, *, max_depth: int = MAX_DEPTH) -> Json:
    """The value of JSON text that is still being written; ``None`` if there is none yet, or it is not JSON.

    It is for showing only: nothing that runs or ends a run reads truncated text. A string that is open ends
    where the text does. An open number or word and a key without a value are left out, since they may become
    something else: ``1`` may become ``12``.
    """
    body = text[end_of_match(_FENCE, text, 0) :]
    whole = read_json(body, max_depth=max_depth).value_or(None)
    start = _START.match(body)
    if whole is not None or start is None:
        return whole
    open_string = next(
        (string for string in _STRING.finditer(body, start.end()) if not string["closer"]), None
    )
    body = f'{body[: open_string.end("sound")]}"' if open_string else _OPEN_WORD.sub("", body)
    found: list[Json] = []
    style = Style(repairs=frozenset({"repeated_keys"}), max_depth=max_depth)
    try:
        _Reader(SearchedText(body), start.end(), style).read_value(found.append, max_depth)
    except _NoValueError:
        # Only the first item counts: what was read before the error, if anything was.
        found += [None]
    return without_non_finite_numbers(found[0])


_BRACKETS = {"{": "}", "[": "]", "(": ")"}


class _Reader:
    """A recursive-descent parser: each method reads what begins at the cursor, and leaves it behind that.

    An object or list is put in its place before it is filled, so that an error leaves what was read.
    """

    def __init__(self, source: SearchedText, at: int, style: Style) -> None:
        self.source, self.text, self.style = source, source.text, style
        self.at = at
        """The cursor."""
        self.repairs: set[Repair] = set()
        """Those that were needed so far."""

    def record_allowed_repair(self, repair: Repair, at: int | None = None) -> None:
        if repair not in self.style.repairs:
            raise _NoValueError(self.at if at is None else at, unfinished=False)
        self.repairs.add(repair)

    def skip_blanks(self) -> None:
        text, begin = self.text, -1
        # Slices, here and below, because an index raises at the end of the text.
        while self.at > begin and text[self.at : self.at + 1] not in _SIGNS:
            begin = self.at
            self.at = end_of_match(_JSON_BLANKS, text, begin)
            if "blanks" in self.style.repairs and (wide := end_of_match(_BLANKS, text, self.at)) > self.at:
                self.repairs.add("blanks")
                self.at = wide
            if text[self.at : self.at + 1] in {"/", "#"}:
                self.skip_comment()

    def skip_comment(self) -> None:
        for opener, (closer, repair) in _COMMENTS.items():
            if self.text.startswith(opener, self.at) and repair in self.style.repairs:
                end = self.source.find(closer, self.at + len(opener))
                if end < 0 and closer != "\n":
                    if "unclosed_comments" not in self.style.repairs:
                        return
                    self.repairs.add("unclosed_comments")
                self.repairs.add(repair)
                self.at = len(self.text) if end < 0 else end + len(closer)

    def read_value(self, put: Callable[[Json], object], levels: int) -> None:
        first = self.text[self.at : self.at + 1]
        if self.style.quote and self.text.startswith(self.style.quote, self.at):
            put(self.read_quoted_text(self.style.quote))
        elif first in _BRACKETS:
            if not levels:
                raise _NoValueError(self.at, unfinished=False)
            if first == "(":
                self.record_allowed_repair("tuples")
            self.at += 1
            if first == "{":
                members: dict[str, Json] = {}
                put(members)
                self.read_members(members, "}", levels)
            else:
                items: list[Json] = []
                put(items)
                for _ in self.item_positions(_BRACKETS[first]):
                    self.read_value(items.append, levels - 1)
        else:
            put(self.read_string() if first in _STRINGS else self.read_scalar())

    def read_members(self, members: dict[str, Json], closer: str, levels: int) -> None:
        loose = closer == ")" or self.style.words
        colons = self.style.colons if loose else ":"
        for begin in self.item_positions(closer):
            key = self.read_key(loose=loose)
            self.skip_blanks()
            # At the end of the text the slice is empty, and every string holds the empty one.
            if (self.text[self.at : self.at + 1] or " ") not in colons:
                raise self.no_value_error(self.at)
            self.at += 1
            if key in members:
                self.record_allowed_repair("repeated_keys", begin)
            self.skip_blanks()
            self.read_value(partial(members.__setitem__, key), levels - 1)

    def item_positions(self, closer: str) -> Iterator[int]:
        """The place of each item up to the closer, or up to the closing tag in its stead."""
        comma = -1
        self.skip_blanks()
        while not self.is_closed_by(closer):
            yield self.at
            comma = -1
            self.skip_blanks()
            if self.text.startswith(",", self.at):
                comma = self.at
                self.at += 1
                self.skip_blanks()
            elif not self.is_closed_by(closer):
                raise self.no_value_error(self.at)
        closed = self.text.startswith(closer, self.at)
        if comma >= 0:
            if not closed:  # a comma announces another item, which was cut
                raise self.no_value_error(comma)
            self.record_allowed_repair("trailing_commas", comma)
        if closed:
            self.at += 1
        else:
            self.record_allowed_repair("missing_closers")

    def is_closed_by(self, closer: str) -> bool:
        closing = self.style.closing
        return self.text.startswith(closer, self.at) or bool(closing and closing.match(self.text, self.at))

    def read_key(self, *, loose: bool) -> str:
        if self.style.quote and self.text.startswith(self.style.quote, self.at):
            return self.read_quoted_text(self.style.quote)
        if self.text[self.at : self.at + 1] in _STRINGS:
            return self.read_string()
        word = _KEY.match(self.text, self.at)
        if word is None or not (loose or "bare_keys" in self.style.repairs):
            raise self.no_value_error(self.at)
        if not loose:
            self.repairs.add("bare_keys")
        self.at = word.end()
        return word[0]

    def read_quoted_text(self, token: str) -> str:
        begin = self.at + len(token)
        end = self.source.find(token, begin)
        if end < 0:
            raise self.no_value_error(len(self.text))
        self.at = end + len(token)
        return self.text[begin:end]

    def read_string(self) -> str:
        begin, mark = self.at, self.text[self.at]
        if mark == "'":
            self.record_allowed_repair("single_quotes")
        if self.text.startswith(mark * 3, begin) and "python_strings" in self.style.repairs:
            self.repairs.add("python_strings")
            content = self.read_quoted_text(mark * 3)
        elif whole := _STRINGS[mark].match(self.text, begin + 1):
            content, self.at = whole[0][:-1], whole.end()
        else:
            raise self.no_value_error(len(self.text))
        if _CONTROL.search(content):
            self.record_allowed_repair("control_characters", begin)
        if "\\" not in content:
            return content
        # Half of a character that was escaped alone could not be encoded later.
        return encodable_text(_ESCAPE.sub(partial(self.meaning_of_escape, begin, mark), content))

    def meaning_of_escape(self, begin: int, mark: str, escape: re.Match[str]) -> str:
        """What an escape in a string means; one that JSON does not have needs a repair."""
        code = escape[1]
        if code in _JSON_ESCAPES:
            return _JSON_ESCAPES[code]
        if code[0] == "u" and len(code) > 1:
            # The reader of JSON joins the two halves of a pair.
            return str(json.loads(f'"{escape[0]}"'))
        point = int(code[1:], 16) if len(code) > 1 else -1
        known = 0 <= point <= _LARGEST
        if mark == '"' or not (known or code == "'"):
            self.record_allowed_repair("escapes", begin)
        return chr(point) if known else _LOOSE_ESCAPES.get(code, escape[0])

    def read_scalar(self) -> Json:
        begin = self.at
        if self.style.words:
            if bare := _BARE.match(self.text, begin):
                self.at = bare.end()
                return Bare(bare[0].strip())
            raise self.no_value_error(begin)
        if number := _NUMBER.match(self.text, begin):
            value = self.read_number(number[0])
            self.at = number.end()
            return value
        if _PREFIX.match(self.text, begin):
            self.record_allowed_repair("python_strings")
            self.at += 1
            return self.read_string()
        word = _WORD.match(self.text, begin)
        if word is None or word[0] not in LITERALS:
            raise self.no_value_error(end_of_match(_UNFINISHED, self.text, begin))
        value, repair = LITERALS[word[0]]
        if repair:
            self.record_allowed_repair(repair)
        self.at = word.end()
        return value

    def read_number(self, digits: str) -> Json:
        if not _JSON_NUMBER.fullmatch(digits):
            self.record_allowed_repair("numbers")
            digits = digits.replace("_", "")
        if not set(".eE").isdisjoint(digits):
            number = float(digits)
            if isinf(number):
                # It is kept, so that its siblings are read; what cannot be written is refused later.
                self.repairs.add("non_finite")
            return number
        try:
            return integer_of_digits(digits)
        except ValueError:
            raise _NoValueError(self.at, unfinished=False) from None

    def no_value_error(self, at: int) -> _NoValueError:
        return _NoValueError(at, unfinished=at >= len(self.text))
