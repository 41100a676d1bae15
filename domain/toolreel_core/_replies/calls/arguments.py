"""Reading the arguments of a tool call: whatever a provider sent, an object or a reason why not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from returns.pipeline import is_successful

from toolreel_core._jsontext.canonical import Json, JsonText, canonical, damaged, read
from toolreel_core._jsontext.json_repair import ArgumentRepairs
from toolreel_core._replies.calls.repairs import Reading, read_text
from toolreel_core._replies.warnings import WarningCode

__all__ = [
    "ERROR_WORDS",
    "ArgumentError",
    "ArgumentErrorCode",
    "Arguments",
    "ArgumentsRead",
    "read_arguments",
]

ArgumentErrorCode: TypeAlias = Literal[
    "ARGUMENTS_INVALID_JSON", "ARGUMENTS_NOT_OBJECT", "ARGUMENTS_TOO_DEEP", "ARGUMENTS_TRUNCATED"
]
"""``ARGUMENTS_TOO_DEEP`` stands in older records only: what nests too deeply is JSON that cannot be read."""

ERROR_WORDS: Final[Mapping[ArgumentErrorCode, str]] = {
    "ARGUMENTS_INVALID_JSON": "The arguments are no JSON and could not be repaired; the call is not run.",
    "ARGUMENTS_NOT_OBJECT": "The arguments are JSON but no object; the call is not run.",
    "ARGUMENTS_TOO_DEEP": "The arguments nest too deeply; the call is not run.",
    "ARGUMENTS_TRUNCATED": "The arguments were cut at the token limit and are never completed; the call is "
    "not run.",
}
"""Each code in words."""

_NoObject: TypeAlias = "bool | int | float | str | Sequence[Json] | None"

_EMPTY: Final = canonical({})
_LEVELS: Final = 2
"""How often JSON within a JSON string is decoded."""
_MARKUP: Final = re.compile(r"<[|\uff5c]|</?(?:arg_key|arg_value|parameter|function|tool_call|invoke)\b")
"""What a model's own notation of calls leaves in a key (exo#2187): its value cannot be trusted either."""
_WRAPPERS: Final = frozenset({"arguments", "parameters", "args", "input"})


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """Why arguments could not be read as an object."""

    code: ArgumentErrorCode
    detail: str = ""
    """What was found, in words."""


Arguments: TypeAlias = JsonText | ArgumentError
"""The canonical text of an object, or why there is none."""


@dataclass(frozen=True, slots=True)
class ArgumentsRead:
    """Arguments as they came and as they were understood."""

    value: Arguments
    original: str
    """The text that the model wrote; for arguments that came as an object, its canonical text."""
    warnings: tuple[WarningCode, ...] = ()
    """Codes of the repairs that were applied."""


@dataclass(frozen=True, slots=True)
class _Meant:
    value: Arguments
    codes: tuple[WarningCode, ...] = ()


def read_arguments(raw: Json, *, max_depth: int, repairs: ArgumentRepairs = "safe") -> ArgumentsRead:
    """Read the ``arguments`` of a call, in whatever form they came.

    >>> read_arguments('{"n": 1}', max_depth=64).value
    '{"n":1}'
    >>> read_arguments({"n": 1}, max_depth=64).warnings
    ('ARGUMENTS_NOT_STRING',)
    >>> read_arguments("[1]", max_depth=64).value
    ArgumentError(code='ARGUMENTS_NOT_OBJECT', detail='a list')
    """
    match raw:
        case str():
            meant = _of_text(raw, max_depth, repairs, _LEVELS)
            codes = (*meant.codes, "LONE_SURROGATE") if damaged(raw) else meant.codes
            return ArgumentsRead(meant.value, raw, tuple(dict.fromkeys(codes)) if codes else ())
        case None:
            missing = ArgumentError("ARGUMENTS_NOT_OBJECT", "nothing")
            return ArgumentsRead(missing if repairs == "strict" else _EMPTY, "")
        case bool() | int() | float() | Mapping() | Sequence():
            return _of_value(raw, max_depth, repairs)
        case _:
            assert_never(raw)


def _of_value(raw: Json, max_depth: int, repairs: ArgumentRepairs) -> ArgumentsRead:
    """Arguments that came as a value; it is written down, so that it is held to the rules for text."""
    try:
        text = canonical(raw)
    except ValueError as error:  # the numbers of a body may be NaN
        invalid = ArgumentError("ARGUMENTS_INVALID_JSON", str(error))
        return ArgumentsRead(invalid, "", ("ARGUMENTS_NOT_STRING", "NON_FINITE_NUMBER"))
    if repairs == "strict":
        untold = ArgumentError("ARGUMENTS_NOT_OBJECT", "a value that is no text")
        return ArgumentsRead(untold, text, ("ARGUMENTS_NOT_STRING",))
    meant = _of_text(text, max_depth, repairs, 0)
    return ArgumentsRead(meant.value, text, ("ARGUMENTS_NOT_STRING", *meant.codes))


def _of_text(text: str, max_depth: int, repairs: ArgumentRepairs, levels: int) -> _Meant:
    if not text.strip() and repairs != "strict":
        return _Meant(_EMPTY)
    found = read_text(text, max_depth=max_depth, repairs=repairs)
    if not is_successful(found):
        unreadable = found.failure()
        return _Meant(ArgumentError("ARGUMENTS_INVALID_JSON", unreadable.why), unreadable.codes)
    reading = found.unwrap()
    if repairs == "strict":
        return _as_it_stands(reading)
    if isinstance(reading.tree, Mapping):
        if any(map(_MARKUP.search, reading.tree)):
            return _Meant(ArgumentError("ARGUMENTS_INVALID_JSON", "a key holds markup of the model"))
        wrapped = _is_wrapped(reading.tree)
        codes = (*reading.codes, "ARGUMENTS_MAYBE_WRAPPED") if wrapped else reading.codes
        return _Meant(canonical(reading.tree), codes)
    if isinstance(reading.tree, str) and levels:
        inner = _of_text(reading.tree, max_depth, repairs, levels - 1)
        broken: tuple[WarningCode, ...] = ("LONE_SURROGATE",) if damaged(reading.tree) else ()
        codes = (*inner.codes, *broken)
        if isinstance(inner.value, JsonText):
            return _Meant(inner.value, (*reading.codes, "ARGUMENTS_DOUBLE_ENCODED", *codes))
        return _no_object(reading.tree, (*reading.codes, *codes))
    return _no_object(reading.tree, reading.codes)


def _as_it_stands(reading: Reading) -> _Meant:
    if reading.codes:
        return _Meant(ArgumentError("ARGUMENTS_INVALID_JSON", "a key stands twice"), reading.codes)
    if isinstance(reading.tree, Mapping):
        return _Meant(canonical(reading.tree))
    return _Meant(ArgumentError("ARGUMENTS_NOT_OBJECT", _kind(reading.tree)))


def _no_object(tree: _NoObject, codes: tuple[WarningCode, ...]) -> _Meant:
    """JSON that is no object; what says "nothing" is taken for an empty one."""
    if tree is None:
        return _Meant(_EMPTY, codes)
    if tree == []:
        return _Meant(_EMPTY, (*codes, "ARGUMENTS_EMPTY_LIST"))
    return _Meant(ArgumentError("ARGUMENTS_NOT_OBJECT", _kind(tree)), codes)


def _is_wrapped(tree: Mapping[str, Json]) -> bool:
    """Whether this looks like a whole call, or like ``{"arguments": {…}}``, instead of arguments."""
    wrappers = [key for key in tree if key in _WRAPPERS]
    alone = len(wrappers) == 1 and tree.keys() <= {"name", *wrappers}
    if not alone:
        return False
    inner = tree[wrappers[0]]
    return isinstance(read(inner).value_or(None) if isinstance(inner, str) else inner, Mapping)


def _kind(tree: _NoObject) -> str:
    match tree:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case Sequence():
            return "a list"
        case _:
            assert_never(tree)
