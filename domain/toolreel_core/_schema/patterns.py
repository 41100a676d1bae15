"""Patterns of JSON Schema, which are regular expressions of ECMA-262, as patterns of ``re``.

Most patterns mean the same in both; names of groups are written differently. What Python cannot express, such
as the properties of characters, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema.walk import changed_within

_NAMED = lazy_pattern(r"\\k<(?P<back>\w+)>|\\.|\(\?<(?P<group>[A-Za-z_]\w*)>", re.DOTALL | re.ASCII)
"""A named group or what repeats one; a character behind a backslash is neither."""


@lru_cache(maxsize=1024)
def python_pattern(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_NAMED.sub(_translate_token, pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"the pattern {pattern!r} cannot be used: {error}") from None


def _translate_token(token: re.Match[str]) -> str:
    if token["back"]:
        return f"(?P={token['back']})"
    return f"(?P<{token['group']}>" if token["group"] else token[0]


def with_python_patterns(schema: Json) -> Json:
    """The schema with its patterns in Python's words, for a validator that compiles them as they stand."""
    if not isinstance(schema, Mapping):
        return schema
    tree = changed_within(schema, with_python_patterns)
    if isinstance(pattern := tree.get("pattern"), str):
        tree["pattern"] = python_pattern(pattern).pattern
    if isinstance(named := tree.get("patternProperties"), Mapping):
        tree["patternProperties"] = {python_pattern(name).pattern: part for name, part in named.items()}
    return tree


# Whether a pattern takes time in proportion to the text that it searches, whatever the text is.
#
# Python's matcher backtracks, and a pattern from outside meets text from outside: ``(a+)+b`` takes years for
# forty letters. The rules are stricter than they need to be, since a rejected pattern is only not checked.


_LINEAR_TOKEN = lazy_pattern(
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
_MOST = 10_000
"""Steps for each character, and for each part of the pattern."""
_EACH_PLACE = 100
"""What counts once at the beginning of a text counts as so much if it is tried at each place."""
_LONG = 200


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
    if token["repeated"] is None or following is None:  # at the end of a pattern nothing can fail behind it
        return _Part()
    least, most = _repetition_limits(token["repeated"])
    part = _Part(1, 1, 1) if most is None or most > _LONG else _Part(most - least + 1)
    sign = following["sign"] if following["repeated"] in {None, "+"} else None
    if sign and not re.fullmatch(token["one"], sign.removeprefix("\\")):  # it can end at one place only
        return _Part(runs=part.runs)
    return part


def _repetition_limits(repeated: str) -> tuple[int, int | None]:
    if repeated in {"*", "+", "?"}:
        return int(repeated == "+"), 1 if repeated == "?" else None
    least, comma, most = repeated[1:-1].partition(",")
    return int(least or 0), int(most) if most else None if comma else int(least or 0)
