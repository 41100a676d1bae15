"""Patterns of JSON Schema, which are regular expressions of ECMA-262, as patterns of ``re``.

Most patterns mean the same in both. Those that Python does not compile are translated; what it cannot
express, such as the properties of scripts, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import Final, NamedTuple

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
            return re.compile(_translate_pattern(pattern))
        except (re.error, OverflowError, RecursionError, ValueError):
            raise ConfigError(f"the pattern {pattern!r} cannot be used: {error}") from None


def with_python_patterns(schema: Json) -> Json:
    """The schema with its patterns in Python's words, for a validator that compiles them as they stand.

    :raises ConfigError: if Python has no such pattern
    """
    if not isinstance(schema, Mapping):
        return schema
    tree = changed_within(schema, with_python_patterns)
    if isinstance(pattern := tree.get("pattern"), str):
        tree["pattern"] = python_pattern(pattern).pattern
    if isinstance(named := tree.get("patternProperties"), Mapping):
        tree["patternProperties"] = {python_pattern(name).pattern: part for name, part in named.items()}
    return tree


def _translate_pattern(pattern: str) -> str:
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
                ranges = _category_ranges(token["property"], inside=token["sign"] == "p")
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


def _category_ranges(name: str, *, inside: bool) -> str:
    """The characters of a general category, or all others, as the inner part of a class."""
    short = name.removeprefix("General_Category=").removeprefix("gc=")
    short = _CATEGORIES.get(short, short)
    spans = [span for category, span in _category_spans() if category.startswith(short) is inside]
    if len(short) > 2 or not any(category.startswith(short) for category, _ in _category_spans()):
        raise ValueError(f"no general category: {name}")
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)


@cache
def _category_spans() -> tuple[tuple[str, tuple[int, int]], ...]:
    """The general category of each run of code points that share one."""
    found: list[tuple[str, tuple[int, int]]] = []
    import unicodedata  # noqa: PLC0415 - few patterns name a category

    for category, points in groupby(range(0x110000), lambda point: unicodedata.category(chr(point))):
        first, *rest = points
        found.append((category, (first, rest[-1] if rest else first)))
    return tuple(found)


# Whether a pattern takes time in proportion to the text that it searches, whatever the text is.
#
# Python's matcher backtracks, and a pattern from outside meets text from outside: ``(a+)+b`` takes years for
# forty letters. The rules are stricter than they need to be, since a rejected pattern is only not checked.


_LINEAR_TOKEN: Final = lazy_pattern(
    r"""
      (?P<open>\((?:\?:|\?P<\w+>|(?!\?)))
    | (?P<close>\)(?P<times>[*+?]|\{\d+,?\d*\}|\{,\d+\})?[?+]?)
    | (?P<either>\|) | (?P<edge>[$^]|\\[bBZ]|\(\?!\)) | (?P<again>\(\?P=\w+\)(?![*+?{]))
    | (?P<one>(?P<sign>[^\\\[\](){}*+?|^$.]|\\\W)|\.|\\[dDsSwWnrtfv]|\\x..|\\u.{4}|\\U.{8}
        |\[\^?\]?(?:\\.|[^\\\]])*\])
      (?P<repeated>[*+?]|\{\d+,?\d*\}|\{,\d+\})?[?+]?
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
"""An element of a pattern; look-around and flags are none."""
_MOST: Final = 10_000
"""Steps for each character, and for each part of the pattern."""
_EACH_PLACE: Final = 100
"""What counts once at the beginning of a text counts as so much if it is tried at each place."""
_LONG: Final = 200
"""The most repetitions that do not count as unlimited."""


class _Part(NamedTuple):
    """How the matcher may go through a part of a pattern."""

    ways: int = 1
    """The number of ways, apart from those through what repeats without a limit."""
    loops: int = 0
    """The repetitions without a limit that may end at several places."""
    runs: int = 0
    """All repetitions without a limit; a high limit is none."""
    before: int = 0
    """The ways through the alternatives before."""


def is_linear(pattern: str) -> bool:
    r"""Whether a search for the pattern surely takes linear time.

    >>> [is_linear(one) for one in (r"^[a-z]+$", r"^\d+\.\d+\.\d+$", r"^(a+)+$", r"^\w+@\w+\w+$", r"a+b")]
    [True, True, False, False, False]

    :param pattern: which Python compiles
    """
    tokens: list[re.Match[str]] = []
    at = 0
    while at < len(pattern):
        token = _LINEAR_TOKEN.match(pattern, at)
        if token is None:
            return False
        tokens.append(token)
        at = token.end()
    parts = [_Part()]
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        part = parts[-1]
        match token.lastgroup:
            case "open":
                parts.append(_Part())
            case "either":
                parts[-1] = _Part(1, part.loops, part.runs, part.before + part.ways)
            case "close":
                group = parts.pop()
                repeated = _repeated_group(group, token["times"] or "{1}")
                if repeated is None:
                    return False
                parts[-1] = _join_parts(parts[-1], repeated)
            case "edge":
                pass
            case "again":  # what a group has matched, which may be long
                parts[-1] = _join_parts(part, _Part(runs=1))
            case _:
                parts[-1] = _join_parts(part, _single_character(token, following))
    whole = parts[0]
    ways = whole.ways + whole.before
    anchored = pattern.startswith("^") and not whole.before
    if whole.loops > 1 or (whole.runs and not anchored):
        return False
    return ways * (1 if anchored and not whole.runs else _EACH_PLACE) <= _MOST


def _join_parts(first: _Part, second: _Part) -> _Part:
    return _Part(
        min(first.ways * second.ways, 2 * _MOST),
        # What ends at several places is followed from each of them.
        first.loops + second.loops + bool(first.loops and second.runs),
        first.runs + second.runs,
        first.before,
    )


def _repeated_group(group: _Part, times: str) -> _Part | None:
    """A group that is repeated; ``None`` if what it holds may match in several ways each time."""
    least, most = _repetition_limits(times)
    ways = group.ways + group.before
    if most == 1:
        return _Part(ways + 1 - least, group.loops, group.runs)
    if group.loops or (ways > 1 and (most is None or most > 16)):
        return None
    if most is None:
        return _Part(1, 1, 1)
    return _Part(min(ways**most * (most - least + 1), 2 * _MOST), 0, group.runs + (most > _LONG))


def _single_character(token: re.Match[str], following: re.Match[str] | None) -> _Part:
    """A character that may be repeated."""
    if token["repeated"] is None or following is None:  # at the end of a pattern nothing can fail behind it
        return _Part()
    least, most = _repetition_limits(token["repeated"])
    part = _Part(1, 1, 1) if most is None or most > _LONG else _Part(most - least + 1)
    sign = following["sign"] if following["repeated"] in {None, "+"} else None
    if sign and not re.fullmatch(token["one"], sign.removeprefix("\\")):  # it can end at one place only
        return _Part(runs=part.runs)
    return part


def _repetition_limits(repeated: str) -> tuple[int, int | None]:
    """The least and the most times that a part is repeated."""
    if repeated in {"*", "+", "?"}:
        return int(repeated == "+"), 1 if repeated == "?" else None
    least, comma, most = repeated[1:-1].partition(",")
    return int(least or 0), int(most) if most else None if comma else int(least or 0)
