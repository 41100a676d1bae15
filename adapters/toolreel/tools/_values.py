"""Python values as JSON, and JSON as Python values: results of tools, and readers for their parameters."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, Final, cast
from uuid import UUID

from toolreel_core._conversation import Media, Text
from toolreel_core._jsontext import Json, canonical
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._tools import Envelope

_NUMBER: Final = r"(\d+(?:[.,]\d+)?)"
# The lookaheads reject "P" and "PT" without any component.
_DURATION: Final = lazy_pattern(
    rf"([+-]?)P(?=.)(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)


def parse_duration(text: str) -> timedelta:
    """Parse a duration; years and months are rejected, because their length varies.

    >>> parse_duration("PT1H30M")
    datetime.timedelta(seconds=5400)

    :raises ValueError: if the text is not a duration
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"not a duration: {text!r}")
    weeks, days, hours, minutes, seconds = (
        float((part or "0").replace(",", ".")) for part in found.groups()[1:]
    )
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -length if found[1] == "-" else length


def duration_text(length: timedelta) -> str:
    """Format a duration.

    >>> duration_text(timedelta(days=-1, minutes=30)), duration_text(timedelta(0))
    ('-PT23H30M', 'PT0S')
    """
    sign, length = ("-", -length) if length < timedelta(0) else ("", length)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = (
        f"{seconds}.{length.microseconds:06}".rstrip("0").rstrip(".") if length.microseconds else f"{seconds}"
    )
    days = f"{length.days}D" if length.days else ""
    parts = [(f"{hours}", "H"), (f"{minutes}", "M"), (fraction, "S")]
    clock = "".join(number + unit for number, unit in parts if number != "0")
    return f"{sign}P{days}{'T' + clock if clock else ''}" if days or clock else "PT0S"


_REMEDIES: Final[Mapping[str, str]] = {
    "bytes": "return Image.from_bytes(data), File.from_bytes(data, media_type), or base64 text",
    "bytearray": "return Image.from_bytes(data), File.from_bytes(data, media_type), or base64 text",
    "generator": "return a list of what it yields",
    "async_generator": "return a list of what it yields",
    "coroutine": "await it inside, or make the tool async",
}


def plain(value: object, parts: list[Media] | None = None) -> Json:
    """A value as JSON; a label stands for each image, audio or file.

    Dataclasses, named tuples, pydantic models, msgspec structs and attrs classes become objects; enums become
    their values; dates, times, UUIDs, decimals and paths become strings; sets become sorted arrays, so that
    results are reproducible.

    >>> plain({"at": date(2026, 11, 22), "tags": {"b", "a"}})
    {'at': '2026-11-22', 'tags': ['a', 'b']}

    :param parts: takes the images, audio and files
    :raises TypeError: if JSON cannot represent it; says what to return instead
    :raises ValueError: if it contains itself, NaN or an infinity
    """
    return _to_json(value, (), [] if parts is None else parts)


def _to_json(value: object, above: tuple[int, ...], parts: list[Media]) -> Json:
    match value:
        case Enum():
            return _to_json(value.value, above, parts)
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"Out of range float values are not JSON compliant: {value}")
            return value
        case _:
            return _to_json_unless_cyclic(value, above, parts)


def _to_json_unless_cyclic(value: object, above: tuple[int, ...], parts: list[Media]) -> Json:
    if id(value) in above:
        raise ValueError("Circular reference detected")
    above = (*above, id(value))
    if isinstance(value, Media):
        parts.append(value)
        return value.label
    if isinstance(value, Text):
        return value.text
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return duration_text(value)
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    if callable(dump := getattr(value, "model_dump", None)):
        return _to_json(dump(mode="json", by_alias=True), above, parts)
    if (serializer := getattr(type(value), "__pydantic_serializer__", None)) is not None:  # a dataclass
        return _to_json(serializer.to_python(value, mode="json", by_alias=True), above, parts)
    if (named := _named_fields(value)) is not None:
        return _object_to_json(named, above, parts)
    if isinstance(value, Set):
        return sorted((_to_json(item, above, parts) for item in value), key=canonical)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_to_json(item, above, parts) for item in value]
    kind = type(value).__name__
    remedy = _REMEDIES.get(kind, "return what JSON can carry")
    if inspect.iscoroutine(value):
        value.close()  # otherwise Python warns that it was never awaited
    raise TypeError(f"Object of type {kind} is not JSON serializable; {remedy}")


def _object_to_json(named: Mapping[object, object], above: tuple[int, ...], parts: list[Media]) -> Json:
    written: dict[str, Json] = {}
    for key, item in named.items():
        name = _key_text(key)
        if name in written:
            raise ValueError(f"two keys of an object are {name!r} in JSON, one of them {key!r}; rename one")
        written[name] = _to_json(item, above, parts)
    return written


def _named_fields(value: object) -> Mapping[object, object] | None:
    """The named fields of a value; ``None`` if it has none."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Envelope):
        return cast("Mapping[object, object]", value.tree())
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    names = getattr(kind, "__struct_fields__", None) or getattr(kind, "_fields", None)
    if names is None and (attributes := getattr(kind, "__attrs_attrs__", None)) is not None:
        names = [attribute.name for attribute in attributes]
    if names is None:
        return None
    written = getattr(kind, "__struct_encode_fields__", names)  # a struct may rename its fields
    return {key: getattr(value, name) for key, name in zip(written, names, strict=True)}


def _key_text(key: object) -> str:
    match key:
        case Enum():
            return _key_text(key.value)
        case str():
            return key
        case None | bool() | int() | float():
            return str(canonical(key))
        case date() | UUID():
            return str(plain(key))
        case _:
            raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")


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

    return JsonType(with_type({"enum": [written for written, _ in choices]}), read)


_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null", dict: "object",
    list: "array",
}  # fmt: skip


def with_type(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema with the types of its choices, which some providers demand.

    >>> with_type({"enum": ["a", 1, 1.5]})
    {'type': ['string', 'number'], 'enum': ['a', 1, 1.5]}
    """
    choices = schema.get("enum")
    if "type" in schema or not isinstance(choices, list) or not choices:
        return schema
    found = dict.fromkeys(_TYPES[type(choice)] for choice in choices)
    kinds = [kind for kind in found if kind != "integer" or "number" not in found]
    return {"type": kinds if len(kinds) > 1 else kinds[0], **schema}


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


def _read_integer(value: Json) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON Schema counts 3.0 as an integer
    return _WHOLE(value)


def _read_number(value: Json) -> object:
    try:
        return float(_NUMERIC(value))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    except OverflowError:
        raise InvalidValue.of(value, "a number of ordinary size") from None


def _read_decimal(value: Json) -> object:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal(math.nan)
        if number.is_finite():
            return number
    raise InvalidValue.of(value, 'a decimal number such as "12.50"')


def _text_type(form: str, parse: Callable[[str], object], example: str) -> JsonType:
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
    int: JsonType({"type": "integer"}, _read_integer),
    float: JsonType({"type": "number"}, _read_number),
    bool: JsonType({"type": "boolean"}, checked(bool, "true or false")),
    None: _NULL,
    NoneType: _NULL,
    Any: ANYTHING,
    object: ANYTHING,
    datetime: _text_type(
        "date-time", datetime.fromisoformat, 'a date and time such as "2026-11-22T09:30:00Z"'
    ),
    date: _text_type("date", date.fromisoformat, 'a date such as "2026-11-22"'),
    time: _text_type("time", time.fromisoformat, 'a time such as "09:30:00"'),
    timedelta: _text_type("duration", parse_duration, 'a duration such as "PT1H30M"'),
    UUID: _text_type("uuid", UUID, 'a UUID such as "c7f9d3a2-5b1e-4c6d-8e2f-0a1b2c3d4e5f"'),
    Path: _text_type("path", Path, 'a path such as "notes/a.txt"'),
    PurePath: _text_type("path", PurePath, 'a path such as "notes/a.txt"'),
    Decimal: JsonType({"type": ["number", "string"]}, _read_decimal),
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
