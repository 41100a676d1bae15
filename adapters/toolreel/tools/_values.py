"""Python values as JSON: results of tools, and defaults of their parameters."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, time
from decimal import Decimal
from enum import Enum
from operator import attrgetter, methodcaller
from pathlib import PurePath
from types import UnionType
from typing import Any, cast
from uuid import UUID

from toolreel_core._conversation import Blob, Media, Text
from toolreel_core._jsontext import Json, canonical
from toolreel_core._tools import Envelope

_REMEDIES: Mapping[str, str] = {
    "bytes": "return Image.from_bytes(data), File.from_bytes(data, media_type), or base64 text",
    "timedelta": "return its total_seconds()",
    "generator": "return a list of what it yields",
    "coroutine": "await it inside, or make the tool async",
    "dict": "return images, audio and files next to a model of pydantic, in a list or a dict",
}


_TEXTS: Sequence[tuple[type | UnionType, Callable[[Any], str]]] = (
    (Text, attrgetter("text")),
    (date | time, methodcaller("isoformat")),
    (Decimal | UUID | PurePath, str),
)
"""What is written as a string."""


def value_as_json(value: object, parts: list[Media] | None = None) -> Json:
    """A value as JSON; a label stands for each image, audio or file, which ``parts`` takes.

    Sets become sorted arrays, so that results are reproducible.

    :param parts: takes the images, audio and files
    :raises TypeError: if JSON cannot represent it; says what to return instead
    :raises ValueError: if it contains itself, NaN or an infinity
    """
    return _convert_to_json(value, (), [] if parts is None else parts)


def _convert_to_json(value: object, above: tuple[int, ...], parts: list[Media]) -> Json:
    # First: members of IntEnum and StrEnum are numbers and texts as well.
    if isinstance(value, Enum):
        return _convert_to_json(value.value, above, parts)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"Out of range float values are not JSON compliant: {value}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if id(value) in above:
        raise ValueError("Circular reference detected")
    above = (*above, id(value))
    if isinstance(value, Media):
        parts.append(value)
        return value.label
    for kinds, write in _TEXTS:
        if isinstance(value, kinds):
            return write(cast("Any", value))
    # Before the fields: a dataclass of pydantic is a plain one as well, without its aliases and serializers.
    if (serializer := getattr(type(value), "__pydantic_serializer__", None)) is not None:
        return _convert_to_json(serializer.to_python(value, mode="json", by_alias=True), above, parts)
    # Before the sequences: a named tuple is one. Not the bytes in a model, which pydantic wrote as Base64.
    if (named := _named_fields(value)) is not None and named.keys() != Blob.__dataclass_fields__.keys():
        return _convert_object(named, above, parts)
    if isinstance(value, Set):
        return sorted((_convert_to_json(item, above, parts) for item in value), key=canonical)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_convert_to_json(item, above, parts) for item in value]
    kind = type(value).__name__
    remedy = _REMEDIES.get(kind, "return what JSON can carry")
    if inspect.iscoroutine(value):
        value.close()  # otherwise Python warns that it was never awaited
    raise TypeError(f"Object of type {kind} is not JSON serializable; {remedy}")


def _convert_object(named: Mapping[object, object], above: tuple[int, ...], parts: list[Media]) -> Json:
    written: dict[str, Json] = {}
    for key, item in named.items():
        name = value_as_json(key)
        if isinstance(name, Mapping | list):
            raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")
        name = name if isinstance(name, str) else str(canonical(name))
        if name in written:
            raise ValueError(f"two keys of an object are {name!r} in JSON, one of them {key!r}; rename one")
        written[name] = _convert_to_json(item, above, parts)
    return written


def _named_fields(value: object) -> Mapping[object, object] | None:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Envelope):
        return cast("Mapping[object, object]", value.tree())
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    names = getattr(kind, "__struct_fields__", None) or getattr(kind, "_fields", None)
    if names is None:
        return None
    written = getattr(kind, "__struct_encode_fields__", names)  # a struct may rename its fields
    return {key: getattr(value, name) for key, name in zip(written, names, strict=True)}
