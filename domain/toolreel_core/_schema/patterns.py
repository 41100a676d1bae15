"""Patterns of JSON Schema, which are regular expressions of ECMA-262, as patterns of ``re``.

Most patterns mean the same in both; names of groups are written differently. What Python cannot express, such
as the properties of characters, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema.walk import map_subschemas

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
    tree = map_subschemas(schema, with_python_patterns)
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
    | (?P<other>.+)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
"""An element of a pattern; from the first look-around or flag on, everything is one ``other``."""
# Measured: with patterns at this limit, a text of 200,000 characters takes 0.1 s.
_MOST = 10_000
"""Steps for each character, and for each part of the pattern."""
_EACH_PLACE = 100
"""Factor of a pattern that is tried at each place of a text, instead of once at its beginning."""
_LONG = 200
"""A repetition with a higher limit counts as unlimited."""
_NO_LIMIT = 2**32
"""Above all limits that Python compiles."""


def is_linear_time_pattern(pattern: str) -> bool:
    r"""Whether a search for the pattern surely takes linear time.

    >>> [
    ...     is_linear_time_pattern(one)
    ...     for one in (r"^[a-z]+$", r"^\d+\.\d+\.\d+$", r"^(a+)+$", r"^\w+@\w+\w+$", r"a+b")
    ... ]
    [True, True, False, False, False]

    :param pattern: which Python compiles
    """
    tokens = [*_LINEAR_TOKEN.finditer(pattern)]
    if tokens and tokens[-1]["other"]:
        return False
    anchored = pattern.startswith("^")
    # A repetition without a limit may end at several places (it is loose), and what repeats behind it would
    # be followed from each of them. All others multiply the ways through the group that they are in.
    runs = loose = False
    ways = [1]
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        repeats, may_end, factor = False, True, 1
        match token.lastgroup:
            case "open":
                ways.append(1)
            case "either":
                ways[-1] += 1
                anchored = anchored and len(ways) > 1
            case "edge":
                pass
            case "again":  # what a group has matched, which may be long
                repeats, may_end = True, False
            case "close":
                inside = ways.pop()
                least, most = _repetition_limits(token["times"] or "{1}")
                repeats = most > _LONG
                if (most > 1 and loose) or (repeats and inside > 1):
                    return False
                factor = 1 if repeats else inside**most * (most - least + 1)
            case _:
                if token["repeated"] and following:  # at the end of a pattern nothing can fail behind it
                    least, most = _repetition_limits(token["repeated"])
                    sign = following["sign"] if following["repeated"] in {None, "+"} else None
                    may_end = sign is None or bool(re.fullmatch(token["one"], sign.removeprefix("\\")))
                    repeats = most > _LONG
                    factor = most - least + 1 if may_end and not repeats else 1
        if repeats and loose:
            return False
        runs, loose = runs or repeats, loose or (repeats and may_end)
        ways[-1] *= factor
        if ways[-1] > _MOST or (runs and not anchored):
            return False
    return ways[0] * (1 if anchored and not runs else _EACH_PLACE) <= _MOST


def _repetition_limits(repeated: str) -> tuple[int, int]:
    if repeated in {"*", "+", "?"}:
        return int(repeated == "+"), 1 if repeated == "?" else _NO_LIMIT
    least, comma, most = repeated[1:-1].partition(",")
    return int(least or 0), int(most or (_NO_LIMIT if comma else least))
