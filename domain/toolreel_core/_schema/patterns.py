"""Patterns of JSON Schema, which are regular expressions of ECMA-262, as patterns of ``re``.

Most patterns mean the same in both. Those that Python does not compile are translated; what it cannot
express, such as the properties of scripts, is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema.walk import changed_within

_TOKEN: Final = lazy_pattern(
    r"""
      \\u\{(?P<point>[0-9a-fA-F]+)\}        # a code point
    | \\c(?P<control>[A-Za-z])              # a control character
    | \\(?P<sign>[pP])\{(?P<property>\w+(?:=\w+)?)\}
    | \\k<(?P<back>\w+)>                    # what a named group has matched
    | \\(?P<letter>[A-Za-z])
    | (?P<any>\[\^\])                       # any character at all
    | (?P<none>\[\])                        # no character
    | \(\?<(?P<group>[A-Za-z_]\w*)>
    | (?P<other>\\.|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_MEANINGFUL: Final = frozenset("AbBdDsSwWfnrtvxuZ")
"""Letters with a meaning after a backslash; ECMA-262 reads any other as itself."""
_CATEGORIES: Final = {
    "Alphabetic": "L", "Letter": "L", "Lowercase_Letter": "Ll", "Lowercase": "Ll", "Uppercase_Letter": "Lu",
    "Uppercase": "Lu", "Mark": "M", "Number": "N", "Decimal_Number": "Nd", "Punctuation": "P", "Symbol": "S",
    "Separator": "Z", "Space_Separator": "Zs", "Other": "C", "Control": "Cc",
}  # fmt: skip


@lru_cache(maxsize=1024)
def python_pattern(pattern: str) -> re.Pattern[str]:
    r"""The compiled pattern.

    >>> python_pattern(r"^(?<year>\d{4})-\p{Lu}$").fullmatch("2026-É")["year"]
    '2026'

    :raises ConfigError: if Python has no such pattern
    """
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        try:
            return re.compile(_translated(pattern))
        except (re.error, OverflowError, RecursionError, ValueError):
            raise ConfigError(f"the pattern {pattern!r} cannot be used: {error}") from None


def in_python(schema: Json) -> Json:
    """The schema with its patterns in Python's words, for a validator that compiles them as they stand.

    :raises ConfigError: if Python has no such pattern
    """
    if not isinstance(schema, Mapping):
        return schema
    tree = changed_within(schema, in_python)
    if isinstance(pattern := tree.get("pattern"), str):
        tree["pattern"] = python_pattern(pattern).pattern
    if isinstance(named := tree.get("patternProperties"), Mapping):
        tree["patternProperties"] = {python_pattern(name).pattern: part for name, part in named.items()}
    return tree


def _translated(pattern: str) -> str:
    """The pattern in Python's words.

    :raises ValueError: if it holds what Python cannot say
    """
    written: list[str] = []
    in_class = False
    for token in _TOKEN.finditer(pattern):
        match token.lastgroup:
            case "point":
                written.append(f"\\U{int(token['point'], 16):08x}")
            case "control":
                written.append(f"\\x{ord(token['control']) % 32:02x}")
            case "property":
                ranges = _ranges(token["property"], inside=token["sign"] == "p")
                written.append(ranges if in_class else f"[{ranges}]")
            case "back":
                written.append(f"(?P={token['back']})")
            case "group":
                written.append(f"(?P<{token['group']}>")
            case "letter":
                written.append(token[0] if token["letter"] in _MEANINGFUL else token["letter"])
            case "any" if not in_class:
                written.append(r"[\s\S]")
            case "none" if not in_class:
                written.append("(?!)")
            case _:
                # A bracket opens no class in a class; Python would warn of it.
                written.append("\\[" if token[0] == "[" and in_class else token[0])
                in_class = token[0] == "[" or (in_class and token[0] != "]")
    return "".join(written)


def _ranges(name: str, *, inside: bool) -> str:
    """The characters of a general category, or all others, as the inner part of a class."""
    short = name.removeprefix("General_Category=").removeprefix("gc=")
    short = _CATEGORIES.get(short, short)
    spans = [span for category, span in _spans() if category.startswith(short) is inside]
    if len(short) > 2 or not any(category.startswith(short) for category, _ in _spans()):
        raise ValueError(f"no general category: {name}")
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)


@cache
def _spans() -> tuple[tuple[str, tuple[int, int]], ...]:
    """The general category of each run of code points that share one."""
    found: list[tuple[str, tuple[int, int]]] = []
    for category, points in groupby(range(0x110000), lambda point: unicodedata.category(chr(point))):
        first, *rest = points
        found.append((category, (first, rest[-1] if rest else first)))
    return tuple(found)
