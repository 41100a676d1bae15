"""Readers of JSON values for the parameters of a function, each with its schema: scalars and containers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, Final
from uuid import UUID

from toolreel.tools._python.types.durations import parse_duration
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


def union(choices: Sequence[JsonType]) -> JsonType:
    """A union of types."""

    def read(value: Json) -> object:
        found, complaints = list[object](), list[InvalidValue]()
        for choice in choices:
            try:
                found.append(choice.read(value))
            except InvalidValue as error:
                complaints.append(error)
        if not found:
            deepest = max(complaints, key=lambda error: len(error.path))
            raise deepest if deepest.path or len(choices) == 1 else complaints[0]
        # A value that needs no conversion wins, so that "7" for `int | str` stays text.
        return next((result for result in found if type(result) is type(value)), found[0])

    schemas = [choice.schema for choice in choices]
    if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        return JsonType({"type": [schema["type"] for schema in schemas]}, read)
    return JsonType({"anyOf": schemas}, read)


def items_reader(
    kind_at: Callable[[int], JsonType], build: Callable[[list[object]], object], count: int | None = None
) -> Callable[[Json], object]:
    """A reader of arrays.

    :param kind_at: the type of the item at an index
    :param build: makes the Python value of the items
    """

    def read(value: Json) -> object:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidValue.of(value, "an array")
        if count is not None and len(value) != count:
            raise InvalidValue.of(value, f"an array of {count}")
        items = list[object]()
        for at, item in enumerate(value):
            try:
                items.append(kind_at(at).read(item))
            except InvalidValue as error:
                raise error.under(at) from None
        return build(items)

    return read


def values_reader(read_key: Callable[[str], object], kind: JsonType) -> Callable[[Json], object]:
    """A reader of objects with arbitrary keys."""

    def read(value: Json) -> object:
        if not isinstance(value, Mapping):
            raise InvalidValue.of(value, "an object")
        values = dict[object, object]()
        for key, item in value.items():
            try:
                values[read_key(key)] = kind.read(item)
            except InvalidValue as error:
                raise error.under(key) from None
        return values

    return read


def _integer(value: Json) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON Schema counts 3.0 as an integer
    return _WHOLE(value)


def _number(value: Json) -> object:
    try:
        return float(_NUMERIC(value))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    except OverflowError:
        raise InvalidValue.of(value, "a number of ordinary size") from None


def _decimal(value: Json) -> object:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal(math.nan)
        if number.is_finite():
            return number
    raise InvalidValue.of(value, 'a decimal number such as "12.50"')


def _text(form: str, parse: Callable[[str], object], example: str) -> JsonType:
    """A type that is written as a string with a format."""

    def read(value: Json) -> object:
        try:
            return parse(_STRING(value))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        except (InvalidValue, ValueError, OverflowError):
            raise InvalidValue.of(value, example) from None

    return JsonType({"type": "string", "format": form}, read)


_STRING: Final = checked(str, "a text")
_WHOLE: Final = checked(int, "an integer")
_NUMERIC: Final = checked((int, float), "a number")
_NULL: Final = JsonType({"type": "null"}, checked(NoneType, "null"))

ANYTHING: Final = JsonType({}, lambda value: value)
"""Any JSON value, unchanged."""

SCALARS: Final[Mapping[object, JsonType]] = {
    str: JsonType({"type": "string"}, _STRING),
    int: JsonType({"type": "integer"}, _integer),
    float: JsonType({"type": "number"}, _number),
    bool: JsonType({"type": "boolean"}, checked(bool, "true or false")),
    None: _NULL,
    NoneType: _NULL,
    Any: ANYTHING,
    object: ANYTHING,
    datetime: _text("date-time", datetime.fromisoformat, 'a date and time such as "2026-11-22T09:30:00Z"'),
    date: _text("date", date.fromisoformat, 'a date such as "2026-11-22"'),
    time: _text("time", time.fromisoformat, 'a time such as "09:30:00"'),
    timedelta: _text("duration", parse_duration, 'a duration such as "PT1H30M"'),
    UUID: _text("uuid", UUID, 'a UUID such as "c7f9d3a2-5b1e-4c6d-8e2f-0a1b2c3d4e5f"'),
    Path: _text("path", Path, 'a path such as "notes/a.txt"'),
    PurePath: _text("path", PurePath, 'a path such as "notes/a.txt"'),
    Decimal: JsonType({"type": ["number", "string"]}, _decimal),
}


def key_reader(kind: JsonType, hint: object) -> Callable[[str], object]:
    """A reader for keys of objects, which JSON always writes as strings."""
    if hint is not int:
        return kind.read

    def read(key: str) -> object:
        try:
            return int(key)
        except ValueError:
            raise InvalidValue.of(key, 'a whole number as the key, such as "7"') from None

    return read
