"""Reading YAML that :mod:`~toolreel.cassette._format.yaml_writer` has written, without libyaml.

A line is a place in the tree: how far it is indented, the dashes of the lists that begin or go on there, a
key, and a value in one line or a literal block under it. What is laid out in another way, down to a comment
or a space too many, is not read here at all, but left to libyaml; a test holds that both read the same.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, TypeAlias

from toolreel._errors import MissingExtra
from toolreel.cassette._format.yaml_reader import Scalars
from toolreel.cassette._format.yaml_writer import NOT_PLAIN, ONE_LINE

try:
    import yaml
    from yaml.scanner import Scanner
except ImportError as error:
    raise MissingExtra.of("record", "PyYAML") from error

__all__ = ["learnt", "read_lines"]

_LINE: Final = re.compile(
    r"(?P<indentation> *)(?P<dashes>(?:- )*)"
    r"(?:(?:(?P<key>[A-Za-z_$](?:[A-Za-z0-9_$./ -]{0,98}[A-Za-z0-9_$./-])?)"
    r"|'(?P<quoted_key>[^']{1,99})'):(?: (?!\Z)|\Z))?"
    r"(?:(?P<nothing>)"
    r"|'(?P<single>[^']*+(?:''[^']*+)*+)'"
    r'|"(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"'
    r"|&(?P<anchor>[A-Za-z0-9_-]+)|\*(?P<alias>[A-Za-z0-9_-]+)"
    r"|(?P<empty>\[\]|\{\})"
    r"|(?P<block>\|2?[-+]?)"
    rf"|(?!{NOT_PLAIN.pattern})(?P<plain>.+))"
)
_VALUES: Final = frozenset({"plain", "single", "double"})
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-F]{2})|u([0-9A-F]{4})|U([0-9A-F]{8})|(.))")
_SCALARS: Final = Scalars()
_LONG: Final = 120
"""Characters from which on a line is not likely to come again."""
_FARTHEST: Final = 150
"""Columns; what is indented further may be nested deeper than a cassette may be."""

_Line: TypeAlias = tuple[int, int, "str | None", str, Any]
"""The column of its first dash or its key; how many dashes it has; its key; and what follows: a ``value``, or
an ``alias``, ``anchor``, ``block`` and so on, as the groups of the pattern are called, with its text."""
_NOTHING: Final[_Line] = (-1, 0, None, "nothing", "")


def read_lines(text: str, expanded_limit: int) -> object | None:
    """The tree of plain values in a text, or ``None`` if it is not laid out as we do it.

    Aliases come back as the same object.

    :param expanded_limit: how many characters there may be with all aliases unfolded
    """
    try:
        return _Reader(text, expanded_limit).read()
    except (_NotOurs, LookupError, RecursionError):
        return None  # libyaml says what is wrong with it, if anything


class _NotOurs(Exception):
    """Something that we would not have written."""


class _Reader:
    """Reads one document."""

    def __init__(self, text: str, expanded_limit: int) -> None:
        self._texts = text.split("\n")
        self._lines = [learnt(line) if len(line) < _LONG else _learnt(line) for line in self._texts]
        self._at = 0
        """Number of the line that is read next."""
        self._limit = expanded_limit
        self._anchored: dict[str, tuple[Any, int]] = {}
        self._begun: set[str] = set()
        """Anchors, of which each may stand once."""
        self._aliased = 0
        """Characters of all aliases so far, unfolded."""

    def read(self) -> object:
        first = self._lines[0]
        if first is None or first[:2] != (0, 0):
            raise _NotOurs
        root = self._mapping(*first)
        if self._texts[self._at :] != ["...", ""] or self._size(0, 0) > self._limit:
            raise _NotOurs
        return root

    def _size(self, begin: int, aliased: int) -> int:
        """Characters since a line, unfolded; never fewer than libyaml's reader counts."""
        own = self._texts[begin : self._at]
        return sum(map(len, own)) + len(own) + self._aliased - aliased

    def _mapping(self, column: int, dashes: int, key: str | None, kind: str, value: Any) -> dict[str, Any]:
        """The mapping that begins with a key."""
        items: dict[str, Any] = {}
        at = column
        while at == column and not dashes:
            if key is None or key in items:
                raise _NotOurs
            self._at += 1
            items[key] = value if kind == "value" else self._below(kind, value, column, lists_at=column)
            at, dashes, key, kind, value = self._lines[self._at] or _NOTHING
        return items

    def _list(self, column: int, dashes: int, key: str | None, kind: str, value: Any) -> list[Any]:
        """The list that begins with a dash."""
        items: list[Any] = []
        at = column
        while at == column and dashes:
            if dashes > 1:
                items.append(self._list(column + 2, dashes - 1, key, kind, value))
            elif key is not None:
                items.append(self._mapping(column + 2, 0, key, kind, value))
            else:
                self._at += 1
                items.append(
                    value if kind == "value" else self._below(kind, value, column, lists_at=column + 2)
                )
            at, dashes, key, kind, value = self._lines[self._at] or _NOTHING
        return items

    def _below(self, kind: str, text: str, column: int, *, lists_at: int) -> Any:
        """What is no value in the line itself.

        :param column: of the collection that it stands in
        :param lists_at: the column of a list that begins in the next line
        """
        match kind:
            case "alias":
                value, size = self._anchored[text]
                self._aliased += size
                return value
            case "empty":
                return [] if text == "[]" else {}
            case "block":
                return self._block(text, " " * (column + 2))
            case "anchor":
                return self._anchor(text, lists_at, column + 2)
            case _:
                return self._collection(lists_at, column + 2)

    def _anchor(self, name: str, lists_at: int, mappings_at: int) -> Any:
        if name in self._begun:
            raise _NotOurs
        self._begun.add(name)
        begin, aliased = self._at, self._aliased
        value = self._collection(lists_at, mappings_at)
        self._anchored[name] = value, self._size(begin, aliased)
        return value

    def _collection(self, lists_at: int, mappings_at: int) -> Any:
        """The collection that begins in the next line."""
        line = self._lines[self._at] or _NOTHING
        if line[0] != (lists_at if line[1] else mappings_at):
            raise _NotOurs
        return self._list(*line) if line[1] else self._mapping(*line)

    def _block(self, indicator: str, pad: str) -> str:
        """The text of a literal block, which stands in the lines below."""
        begin = self._at
        while not self._texts[self._at] or self._texts[self._at].startswith(pad):
            self._at += 1
        text = "\n".join(line[len(pad) :] for line in self._texts[begin : self._at])
        whole = text.rstrip("\n")
        if not whole.replace("\n", "").replace("\t", "").isprintable() or whole[0] == "\t":
            raise _NotOurs
        if whole[0] in " \n" and "2" not in indicator:
            raise _NotOurs
        match indicator[-1]:
            case "-":
                return whole
            case "+":
                return f"{text}\n"
            case _:
                return f"{whole}\n"


def _learnt(text: str) -> _Line | None:
    """What stands in a line; ``None`` where we would not have written it but in a literal block."""
    found = _LINE.fullmatch(text)
    if not found or not (text.isprintable() or ONE_LINE.fullmatch(text)):
        return None
    indentation, dashes, key, quoted_key, *_ = found.groups()
    kind, column = str(found.lastgroup), len(indentation)
    try:
        if key is not None and _known_key(key) != key:
            return None
        value = _value(kind, found[kind])
    except (_NotOurs, yaml.YAMLError, ValueError, LookupError):
        return None
    if column + len(dashes) > _FARTHEST:
        return None
    named = key or quoted_key
    if named is None and (not dashes or kind == "nothing"):
        return None
    return column, len(dashes) // 2, named, "value" if kind in _VALUES else kind, value


_known_key: Final = lru_cache(maxsize=1024)(_SCALARS.plain)

learnt: Final = lru_cache(maxsize=2048)(_learnt)
"""The same for lines that are not long: most stand in a cassette again and again, and in the next one too."""


def _value(kind: str, text: str) -> Any:
    match kind:
        case "plain":
            return _SCALARS.plain(text)
        case "single":
            return text.replace("''", "'")
        case "double":
            return _ESCAPE.sub(_unescaped, text)
        case _:
            return text


def _unescaped(found: re.Match[str]) -> str:
    *codes, letter = found.groups()
    if letter is not None:
        return Scanner.ESCAPE_REPLACEMENTS[letter]
    code = int(next(filter(None, codes)), 16)
    if 0xD800 <= code < 0xE000:
        raise _NotOurs
    return chr(code)
