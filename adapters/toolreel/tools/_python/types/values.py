"""Reading a JSON value as a Python type: the pair of a schema and a reader, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json, canonical

__all__ = ["InvalidValue", "JsonType", "checked", "json_equal", "one_of"]

_MAX_DISPLAY: Final = 60


class InvalidValue(Exception):
    """A value that does not read as its type, and the way to it."""

    def __init__(self, why: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    @classmethod
    def of(cls, value: Json, expected: str) -> InvalidValue:
        """The complaint that something else was expected."""
        text = canonical(value)
        return cls(
            f"expected {expected}, got {text if len(text) <= _MAX_DISPLAY else text[:_MAX_DISPLAY] + '…'}"
        )

    def under(self, step: str | int) -> InvalidValue:
        """The same complaint, seen from the value that holds this one."""
        return InvalidValue(self.why, (step, *self.path))

    def __str__(self) -> str:
        """The place and the reason, as the checks of the core put them.

        >>> print(InvalidValue("expected a date", ("days", 0)))
        /days/0: expected a date
        """
        place = "".join(f"/{step}" for step in self.path)
        return f"{place}: {self.why}" if place else self.why


@dataclass(frozen=True, slots=True)
class JsonType:
    """A Python type as JSON."""

    schema: Mapping[str, Json]
    read: Callable[[Json], object]
    """The Python value for a JSON value; raises :class:`InvalidValue`."""


def checked(kind: type | tuple[type, ...], expected: str) -> Callable[[Json], object]:
    """A reader that takes JSON values of a Python type as they are."""

    def read(value: Json) -> object:
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise InvalidValue.of(value, expected)

    return read


def one_of(choices: Sequence[tuple[Json, object]]) -> JsonType:
    """A type of fixed choices: each as JSON, and what it stands for."""

    def read(value: Json) -> object:
        for written, choice in choices:
            if json_equal(written, value):
                return choice
        raise InvalidValue.of(value, f"one of {', '.join(canonical(written) for written, _ in choices)}")

    return JsonType({"enum": [written for written, _ in choices]}, read)


def json_equal(one: Json, other: Json) -> bool:
    """Whether two values are the same to JSON, for which ``1`` is ``1.0`` and not ``true``."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
