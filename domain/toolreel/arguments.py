"""Reading the arguments of a tool call: whatever a provider sent, an object or a reason why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from returns.result import Failure, Result, Success

from toolreel.jsontext import Json, JsonText, canonical, nesting, read
from toolreel.pipeline import either

__all__ = ["ArgumentError", "Arguments", "ArgumentsRead", "read_arguments"]

ArgumentErrorCode: TypeAlias = Literal[
    "ARGUMENTS_INVALID_JSON", "ARGUMENTS_NOT_OBJECT", "ARGUMENTS_TOO_DEEP", "ARGUMENTS_TRUNCATED"
]

_EMPTY: Final = canonical({})


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
    warnings: tuple[str, ...] = ()
    """Codes of the repairs that were applied."""


def read_arguments(raw: Json, *, max_depth: int) -> ArgumentsRead:
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
            return ArgumentsRead(either(_parsed(raw, max_depth)), raw)
        case None:
            return ArgumentsRead(_EMPTY, "")
        case bool() | int() | float() | Mapping() | Sequence():
            text = canonical(raw)
            return ArgumentsRead(either(_shallow(text, max_depth)), text, ("ARGUMENTS_NOT_STRING",))
        case _:
            assert_never(raw)


def _parsed(text: str, max_depth: int) -> Result[JsonText, ArgumentError]:
    if not text.strip():
        return Success(_EMPTY)
    return _shallow(text, max_depth)


def _shallow(text: str, max_depth: int) -> Result[JsonText, ArgumentError]:
    if nesting(text, enough=max_depth + 1) > max_depth:
        return Failure(ArgumentError("ARGUMENTS_TOO_DEEP", f"deeper than {max_depth} levels"))
    return read(text, max_depth=max_depth).alt(_not_json).bind(_object)


def _not_json(why: str) -> ArgumentError:
    return ArgumentError("ARGUMENTS_INVALID_JSON", why)


def _object(value: Json) -> Result[JsonText, ArgumentError]:
    match value:
        case Mapping():
            return Success(canonical(value))
        case None:
            return Success(_EMPTY)
        case bool():
            return Failure(ArgumentError("ARGUMENTS_NOT_OBJECT", "a boolean"))
        case str():
            return Failure(ArgumentError("ARGUMENTS_NOT_OBJECT", "a string"))
        case int() | float():
            return Failure(ArgumentError("ARGUMENTS_NOT_OBJECT", "a number"))
        case Sequence():
            return Failure(ArgumentError("ARGUMENTS_NOT_OBJECT", "a list"))
        case _:
            assert_never(value)
