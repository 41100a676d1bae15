"""Types that are a single JSON scalar: numbers, strings, and types written as strings, such as dates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, Final
from uuid import UUID

from toolreel.tools._python.types.durations import parse_duration
from toolreel.tools._python.types.values import InvalidValue, JsonType, checked
from toolreel_core._jsontext.canonical import Json


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
