"""A JSON type: a schema and a reader of values, and the error for values that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json, canonical

_MAX_DISPLAY: Final = 60


class InvalidValue(Exception):
    """A value does not fit its type; it has the path to the value."""

    def __init__(self, reason: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    @classmethod
    def of(cls, value: Json, expected: str) -> InvalidValue:
        """The error that says what was expected, and the actual value."""
        text = canonical(value)
        return cls(
            f"expected {expected}, got {text if len(text) <= _MAX_DISPLAY else text[:_MAX_DISPLAY] + '…'}"
        )

    def under(self, step: str | int) -> InvalidValue:
        """The same error with a path that starts one level further out."""
        return InvalidValue(self.reason, (step, *self.path))

    def __str__(self) -> str:
        """The path and the reason, in the format of the core's schema errors.

        >>> print(InvalidValue("expected a date", ("days", 0)))
        /days/0: expected a date
        """
        place = "".join(f"/{step}" for step in self.path)
        return f"{place}: {self.reason}" if place else self.reason


@dataclass(frozen=True, slots=True)
class JsonType:
    """A Python type as JSON."""

    schema: Mapping[str, Json]
    read: Callable[[Json], object]
    """The Python value for a JSON value; raises :class:`InvalidValue`."""


def checked(kind: type | tuple[type, ...], expected: str) -> Callable[[Json], object]:
    """A reader that accepts values of a type unchanged; a bool is not a number."""

    def read(value: Json) -> object:
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise InvalidValue.of(value, expected)

    return read


def one_of(choices: Sequence[tuple[Json, object]]) -> JsonType:
    """A type with fixed choices, each given as JSON and as the Python value."""

    def read(value: Json) -> object:
        for written, choice in choices:
            if json_equal(written, value):
                return choice
        raise InvalidValue.of(value, f"one of {', '.join(canonical(written) for written, _ in choices)}")

    return JsonType({"enum": [written for written, _ in choices]}, read)


def json_equal(one: Json, other: Json) -> bool:
    """Whether two values are equal in JSON, where ``1`` equals ``1.0`` but not ``true``."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
