"""Results of tools as JSON."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence, Set
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Final, cast
from uuid import UUID

from toolreel.tools._python.types.durations import duration_text
from toolreel_core._conversation.content.part import Media, Text
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._tools.result_envelope import Envelope

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
    return _plain(value, (), [] if parts is None else parts)


def _plain(value: object, above: tuple[int, ...], parts: list[Media]) -> Json:
    match value:
        case Enum():
            return _plain(value.value, above, parts)
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"Out of range float values are not JSON compliant: {value}")
            return value
        case _:
            return _whole(value, above, parts)


def _whole(value: object, above: tuple[int, ...], parts: list[Media]) -> Json:
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
        return _plain(dump(mode="json"), above, parts)
    if (named := _named(value)) is not None:
        return {_key(key): _plain(item, above, parts) for key, item in named.items()}
    if isinstance(value, Set):
        return sorted((_plain(item, above, parts) for item in value), key=canonical)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_plain(item, above, parts) for item in value]
    kind = type(value).__name__
    remedy = _REMEDIES.get(kind, "return what JSON can carry")
    if inspect.iscoroutine(value):
        value.close()  # otherwise Python warns that it was never awaited
    raise TypeError(f"Object of type {kind} is not JSON serializable; {remedy}")


def _named(value: object) -> Mapping[object, object] | None:
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
    return None if names is None else {name: getattr(value, name) for name in names}


def _key(key: object) -> str:
    match key:
        case Enum():
            return _key(key.value)
        case str():
            return key
        case None | bool() | int() | float():
            return str(canonical(key))
        case date() | UUID():
            return str(plain(key))
        case _:
            raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")
