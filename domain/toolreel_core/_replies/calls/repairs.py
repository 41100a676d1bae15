"""From the text of arguments to JSON: strictly at first, then in steps that have names and leave codes.

Text that was cut is never completed: no step adds what would close a string or a bracket.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from json import JSONDecoder, dumps
from typing import Final, Literal, TypeAlias

from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from toolreel_core._jsontext.canonical import Json, read, read_tolerant
from toolreel_core._replies.calls.json_repair import (
    keys_quoted,
    mended,
    without_fence,
    without_tokens,
    without_tokens_behind_fence,
)
from toolreel_core._replies.warnings import WarningCode

__all__ = ["ArgumentRepairs", "Reading", "Unreadable", "read_text"]

ArgumentRepairs: TypeAlias = Literal["strict", "safe", "lenient"]
"""``strict``: arguments are the JSON text of an object as they stand, or an error; ``safe``: the notation
of a closed payload is mended; ``lenient``: also keys without quotes, and any text behind the object."""

_OBJECT: Final = re.compile(r"\s*+(?={)")
_BOUNDARIES: Final = JSONDecoder()
"""Finds where an object ends; what it holds is read strictly afterwards."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says."""

    tree: Json
    codes: tuple[WarningCode, ...] = ()
    """What was done so that it could be read."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a text says nothing."""

    why: str
    codes: tuple[WarningCode, ...] = ()


def read_text(text: str, *, max_depth: int, repairs: ArgumentRepairs) -> Result[Reading, Unreadable]:
    """The JSON that a text is, or can be made by the repairs that are allowed.

    >>> read_text("{'n': 1,}", max_depth=64, repairs="safe").unwrap()
    Reading(tree={'n': 1}, codes=('ARGUMENTS_REPAIRED',))
    >>> read_text("{'n': 1", max_depth=64, repairs="lenient").failure().why
    'Expecting property name enclosed in double quotes at line 1, column 2'
    """
    found = _strictly(text, max_depth)
    if isinstance(found, Reading):
        return Success(found)
    if found.codes or repairs == "strict":
        return Failure(found)
    return _stepwise(text.strip(), max_depth, repairs, found)


def _strictly(text: str, max_depth: int) -> Reading | Unreadable:
    unique = read(text, max_depth=max_depth, unique_keys=True)
    if is_successful(unique):
        return Reading(unique.unwrap())
    last_wins = read(text, max_depth=max_depth)
    if is_successful(last_wins):
        return Reading(last_wins.unwrap(), ("ARGUMENTS_DUPLICATE_KEYS",))
    infinite = is_successful(read_tolerant(text, max_depth=max_depth))
    return Unreadable(last_wins.failure(), ("NON_FINITE_NUMBER",) if infinite else ())


_Repair: TypeAlias = "tuple[WarningCode, Callable[[str], str]]"

_SAFE: Final[tuple[_Repair, ...]] = (
    ("ARGUMENTS_REPAIRED", lambda text: text.strip("\ufeff")),
    ("ARGUMENTS_TRAILING_TEXT", without_tokens_behind_fence),
    ("ARGUMENTS_FENCED", lambda text: without_fence(text) or ("{}" if text else "")),
    ("ARGUMENTS_PYTHON_LITERAL", lambda text: "{}" if text in {"None", "undefined"} else text),
    ("ARGUMENTS_REPAIRED", mended),
)
_LENIENT: Final[tuple[_Repair, ...]] = (*_SAFE, ("ARGUMENTS_REPAIRED", keys_quoted))


def _stepwise(
    text: str, max_depth: int, repairs: ArgumentRepairs, why: Unreadable
) -> Result[Reading, Unreadable]:
    """Repair until the text is JSON, or is JSON with something behind it."""
    codes: tuple[WarningCode, ...] = ()
    for code, repair in _LENIENT if repairs == "lenient" else _SAFE:
        changed = repair(text)
        if changed == text:
            continue
        text, codes = changed, (*codes, code)
        found = _strictly(text, max_depth)
        if isinstance(found, Reading):
            return Success(_with(codes, found))
        if found.codes:
            return Failure(replace(why, codes=found.codes))
    objects, rest = _objects(text, max_depth)
    behind = without_tokens(rest)
    left_over = "{" in behind if repairs == "lenient" else behind.strip()
    if not objects or left_over:
        return Failure(why)
    return _only(objects, rest).map(lambda reading: _with(codes, reading))


def _with(codes: tuple[WarningCode, ...], reading: Reading) -> Reading:
    return replace(reading, codes=(*codes, *reading.codes))


def _only(objects: list[Reading], rest: str) -> Result[Reading, Unreadable]:
    """What objects in a row say, if all say the same."""
    codes: tuple[WarningCode, ...] = ("ARGUMENTS_CONCATENATED",) if len(objects) > 1 else ()
    if len({dumps(each.tree, sort_keys=True) for each in objects}) > 1:
        return Failure(Unreadable(f"{len(objects)} objects in a row that are not the same", codes))
    if rest.strip():
        codes = (*codes, "ARGUMENTS_TRAILING_TEXT")
    return Success(_with(codes, objects[0]))


def _objects(text: str, max_depth: int) -> tuple[list[Reading], str]:
    """The objects with which a text begins, and what stands behind them."""
    objects: list[Reading] = []
    met: dict[str, Reading | Unreadable] = {}
    at = 0
    while begin := _OBJECT.match(text, at):
        end = _end_of_object(text, begin.end())
        piece = text[begin.end() : end]
        # Models that repeat an object do so thousands of times, until their tokens are used up.
        found = met.get(piece) or met.setdefault(piece, _strictly(piece, max_depth))
        if isinstance(found, Unreadable):
            break
        objects.append(found)
        at = end
    return objects, text[at:]


def _end_of_object(text: str, start: int) -> int:
    try:
        _, end = _BOUNDARIES.raw_decode(text, start)
    except (ValueError, RecursionError):
        return start
    return end
