"""Arguments of a tool call: any value from a provider in, a JSON object or a typed error out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._jsontext import ArgumentRepairs, Json, JsonText, canonical, damaged, either, read
from toolreel_core._replies.calls.argument_repairs import Reading, read_text
from toolreel_core._replies.warning_codes import WarningCode

ArgumentErrorCode: TypeAlias = Literal[
    "ARGUMENTS_INVALID_JSON", "ARGUMENTS_NOT_OBJECT", "ARGUMENTS_TRUNCATED"
]

ERROR_WORDS: Final[Mapping[ArgumentErrorCode, str]] = {
    "ARGUMENTS_INVALID_JSON": "The arguments are no JSON and could not be repaired; the call is not run.",
    "ARGUMENTS_NOT_OBJECT": "The arguments are JSON but no object; the call is not run.",
    "ARGUMENTS_TRUNCATED": "The arguments were cut at the token limit and are never completed; the call is "
    "not run.",
}
"""What each code means, as a sentence for users."""

_NotObject: TypeAlias = "bool | int | float | str | Sequence[Json] | None"

_EMPTY: Final = canonical({})
_LEVELS: Final = 2
"""How many layers of JSON inside a JSON string are decoded: servers encode once too often, or twice."""
_MARKUP: Final = re.compile(
    r"<[|\uff5c\u2016]|</?(?:arg_key|arg_value|parameter|function|tool_call|invoke)\b"
)
"""Call markup of a model inside a key (exo#2187), which means that the value cannot be trusted either."""
_WRAPPERS: Final = frozenset({"arguments", "parameters", "args", "input"})


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """Why arguments could not be read as an object."""

    code: ArgumentErrorCode
    detail: str = ""
    """What was found instead, or the parser's message."""


Arguments: TypeAlias = JsonText | ArgumentError
"""Canonical text of an object, or the reason why the arguments are not one."""


@dataclass(frozen=True, slots=True)
class ArgumentsRead:
    """Arguments of one call: the value that was read, the original text, and the repairs."""

    value: Arguments
    original: str
    """The text that the model wrote; for arguments that came as an object, its canonical text."""
    warnings: tuple[WarningCode, ...] = ()
    """Codes of the repairs that were applied."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    value: Arguments
    codes: tuple[WarningCode, ...] = ()


def read_arguments(raw: Json, *, max_depth: int, repairs: ArgumentRepairs = "safe") -> ArgumentsRead:
    """Read the ``arguments`` of a call, whatever their JSON type.

    >>> read_arguments('{"n": 1}', max_depth=64).value
    '{"n":1}'
    >>> read_arguments({"n": 1}, max_depth=64).warnings
    ('ARGUMENTS_NOT_STRING',)
    >>> read_arguments("[1]", max_depth=64).value
    ArgumentError(code='ARGUMENTS_NOT_OBJECT', detail='a list')
    """
    match raw:
        case str():
            parsed = _of_text(raw, max_depth, repairs, _LEVELS)
            codes = (*parsed.codes, "LONE_SURROGATE") if damaged(raw) else parsed.codes
            # One object where both are equal: the states of a run keep it.
            original = parsed.value if isinstance(parsed.value, JsonText) and parsed.value == raw else raw
            return ArgumentsRead(parsed.value, original, tuple(dict.fromkeys(codes)))
        case None:
            missing = ArgumentError("ARGUMENTS_NOT_OBJECT", "nothing")
            return ArgumentsRead(missing if repairs == "strict" else _EMPTY, "")
        case bool() | int() | float() | Mapping() | Sequence():
            return _of_value(raw, max_depth, repairs)
        case _:
            assert_never(raw)


def _of_value(raw: Json, max_depth: int, repairs: ArgumentRepairs) -> ArgumentsRead:
    """Arguments that came as a value; they are encoded first, so that the rules for text apply to them."""
    try:
        text = canonical(raw)
    except ValueError as error:  # a body parsed tolerantly may hold NaN
        invalid = ArgumentError("ARGUMENTS_INVALID_JSON", str(error))
        return ArgumentsRead(invalid, "", ("ARGUMENTS_NOT_STRING", "NON_FINITE_NUMBER"))
    if repairs == "strict":
        not_text = ArgumentError("ARGUMENTS_NOT_OBJECT", "a value that is no text")
        return ArgumentsRead(not_text, text, ("ARGUMENTS_NOT_STRING",))
    parsed = _of_text(text, max_depth, repairs, 0)
    return ArgumentsRead(parsed.value, text, ("ARGUMENTS_NOT_STRING", *parsed.codes))


def _of_text(text: str, max_depth: int, repairs: ArgumentRepairs, levels: int) -> _Parsed:
    if not text.strip() and repairs != "strict":
        return _Parsed(_EMPTY)
    return either(
        read_text(text, max_depth=max_depth, repairs=repairs)
        .map(lambda reading: _of_reading(reading, max_depth, repairs, levels))
        .alt(lambda found: _Parsed(ArgumentError("ARGUMENTS_INVALID_JSON", found.why), found.codes))
    )


def _of_reading(reading: Reading, max_depth: int, repairs: ArgumentRepairs, levels: int) -> _Parsed:
    """The arguments in a parsed value: an object, or a string that holds the JSON text of one."""
    if repairs == "strict":
        return _strict(reading)
    if isinstance(reading.tree, Mapping):
        if any(map(_MARKUP.search, reading.tree)):
            return _Parsed(ArgumentError("ARGUMENTS_INVALID_JSON", "a key holds markup of the model"))
        wrapped = _is_wrapped(reading.tree)
        codes = (*reading.codes, "ARGUMENTS_MAYBE_WRAPPED") if wrapped else reading.codes
        return _Parsed(canonical(reading.tree), codes)
    if isinstance(reading.tree, str) and levels:
        inner = _of_text(reading.tree, max_depth, repairs, levels - 1)
        broken: tuple[WarningCode, ...] = ("LONE_SURROGATE",) if damaged(reading.tree) else ()
        codes = (*inner.codes, *broken)
        if isinstance(inner.value, JsonText):
            return _Parsed(inner.value, (*reading.codes, "ARGUMENTS_DOUBLE_ENCODED", *codes))
        return _not_object(reading.tree, (*reading.codes, *codes))
    return _not_object(reading.tree, reading.codes)


def _strict(reading: Reading) -> _Parsed:
    if reading.codes:
        return _Parsed(ArgumentError("ARGUMENTS_INVALID_JSON", "a key stands twice"), reading.codes)
    if isinstance(reading.tree, Mapping):
        return _Parsed(canonical(reading.tree))
    return _Parsed(ArgumentError("ARGUMENTS_NOT_OBJECT", _kind(reading.tree)))


def _not_object(tree: _NotObject, codes: tuple[WarningCode, ...]) -> _Parsed:
    """JSON that is not an object; null and ``[]`` are what servers send for a call without arguments."""
    if tree is None:
        return _Parsed(_EMPTY, codes)
    if tree == []:
        return _Parsed(_EMPTY, (*codes, "ARGUMENTS_EMPTY_LIST"))
    return _Parsed(ArgumentError("ARGUMENTS_NOT_OBJECT", _kind(tree)), codes)


def _is_wrapped(tree: Mapping[str, Json]) -> bool:
    """Whether this looks like a whole call, or like ``{"arguments": {…}}``, instead of arguments."""
    # Only reported here: a tool may have a parameter called ``input``, and only its schema can tell.
    wrappers = [key for key in tree if key in _WRAPPERS]
    alone = len(wrappers) == 1 and tree.keys() <= {"name", *wrappers}
    if not alone:
        return False
    inner = tree[wrappers[0]]
    return isinstance(read(inner).value_or(None) if isinstance(inner, str) else inner, Mapping)


def _kind(tree: _NotObject) -> str:
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
