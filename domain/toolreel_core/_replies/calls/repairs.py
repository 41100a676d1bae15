"""From the text of arguments to JSON: strictly at first, then by repairs, each of which leaves a code.

Truncated text is never completed: nothing here closes a string or a bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from json import JSONEncoder
from typing import Final, TypeAlias

from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from toolreel_core._jsontext.canonical import Json, read, read_tolerant, sound
from toolreel_core._jsontext.json_repair import (
    REPAIRS,
    WORDS,
    ArgumentRepairs,
    Flaw,
    SearchedText,
    Style,
    Value,
    skip,
    value_at,
)
from toolreel_core._replies.calls.wrapping import without_fence, without_tokens, without_tokens_behind_fence
from toolreel_core._replies.warnings import WarningCode

__all__ = ["Reading", "Unreadable", "read_text"]


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


_NOTHING: Final = {word for word, (value, repair) in WORDS.items() if value is None and repair}
"""``None`` and ``undefined``."""

_Unwrapping: TypeAlias = "tuple[WarningCode, Callable[[str], str]]"

# The order matters: a byte-order mark hides a fence, tokens behind a fence hide its end.
_UNWRAPPINGS: Final[tuple[_Unwrapping, ...]] = (
    ("ARGUMENTS_REPAIRED", lambda text: text.strip("\ufeff")),
    ("ARGUMENTS_TRAILING_TEXT", without_tokens_behind_fence),
    ("ARGUMENTS_FENCED", lambda text: without_fence(text) or ("{}" if text else "")),
    ("ARGUMENTS_PYTHON_LITERAL", lambda text: "{}" if text in _NOTHING else text),
)
_IN_JSON: Final = frozenset({"repeated_keys"})
"""What JSON may have as well; it has a code of its own."""
_SORTED: Final = JSONEncoder(sort_keys=True)


def _stepwise(
    text: str, max_depth: int, repairs: ArgumentRepairs, why: Unreadable
) -> Result[Reading, Unreadable]:
    """Take off what stands around JSON, step by step, until it is JSON; else repair what is left."""
    codes: tuple[WarningCode, ...] = ()
    for code, unwrap in _UNWRAPPINGS:
        changed = unwrap(text)
        if changed == text:
            continue
        text, codes = changed, (*codes, code)
        found = _strictly(text, max_depth)
        if isinstance(found, Reading):
            return Success(_with(codes, found))
    row = _row(sound(text), Style(repairs=REPAIRS[repairs], max_depth=max_depth))
    behind = without_tokens(row.rest)
    left_over = "{" in behind if repairs == "lenient" else behind.strip()
    if not row.values or left_over or (row.rest and not isinstance(row.values[0].tree, Mapping)):
        return Failure(why)
    if any("non_finite" in value.repairs for value in row.values):
        return Failure(replace(why, codes=("NON_FINITE_NUMBER",)))
    return _only(row).map(lambda reading: _with(codes, reading))


def _with(codes: tuple[WarningCode, ...], reading: Reading) -> Reading:
    return replace(reading, codes=(*codes, *reading.codes))


@dataclass(frozen=True, slots=True)
class _Row:
    """The objects with which a text begins, or one other value."""

    values: tuple[Value, ...]
    rest: str
    """What stands behind them."""
    commented: bool
    """There are comments before, between or behind them."""


def _row(text: str, style: Style) -> _Row:
    source = SearchedText(text)
    values: list[Value] = []
    end = 0
    at = skip(source, end, style)
    commented = bool(text[end:at].strip())
    while not values or (text.startswith("{", at) and isinstance(values[0].tree, Mapping)):
        value = value_at(source, at, style)
        if isinstance(value, Flaw):
            break
        written = text[at : value.end]
        # Models that repeat an object do so thousands of times, until their tokens are used up: what is
        # written as before is not read again.
        again = True
        while again:
            values.append(value)
            end = at + len(written)
            at = skip(source, end, style)
            commented = commented or bool(text[end:at].strip())
            again = written.startswith("{") and text.startswith(written, at)
    return _Row(tuple(values), text[at:], commented)


def _only(row: _Row) -> Result[Reading, Unreadable]:
    """The value that objects in a row have in common, with what was done to read it."""
    several = len(row.values) > 1
    if several and len({_SORTED.encode(value.tree) for value in row.values}) > 1:
        differ = f"{len(row.values)} objects in a row that are not the same"
        return Failure(Unreadable(differ, ("ARGUMENTS_CONCATENATED",)))
    first = row.values[0]
    done: Mapping[WarningCode, bool] = {
        "ARGUMENTS_REPAIRED": row.commented or any(value.repairs - _IN_JSON for value in row.values),
        "ARGUMENTS_CONCATENATED": several,
        "ARGUMENTS_TRAILING_TEXT": bool(row.rest),
        "ARGUMENTS_DUPLICATE_KEYS": "repeated_keys" in first.repairs,
    }
    return Success(Reading(first.tree, tuple(code for code, was in done.items() if was)))
