"""Types with named fields: ``TypedDict``, dataclasses and named tuples."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NotRequired, Required, cast, get_args, get_origin, is_typeddict

from toolreel.tools._python.docstrings import parse_docstring
from toolreel.tools._python.types.values import InvalidValue, JsonType
from toolreel_core._jsontext.canonical import Json

NOTHING = inspect.Parameter.empty


class Part(NamedTuple):
    """A field of a record."""

    name: str
    hint: Any
    required: bool
    default: object = NOTHING
    """Its default, if it has one that is known without calling a factory."""


def is_record(hint: Any) -> bool:  # noqa: ANN401 - a type hint can be anything
    """Whether a type has named fields."""
    if not isinstance(hint, type):
        return False
    return _is_typed_dict(hint) or dataclasses.is_dataclass(hint) or _is_named_tuple(hint)


def parts_of(kind: Any, hints: Mapping[str, Any]) -> Iterator[Part]:  # noqa: ANN401
    """The fields of a record, in order.

    :param hints: its resolved annotations
    """
    if _is_typed_dict(kind):
        for name, hint in hints.items():
            yield Part(name, hint, _is_required(name, hint, kind))
    elif dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if field.init:
                default = NOTHING if field.default is dataclasses.MISSING else field.default
                required = default is NOTHING and field.default_factory is dataclasses.MISSING
                yield Part(field.name, hints[field.name], required, default)
    else:
        for name in kind._fields:
            default = kind._field_defaults.get(name, NOTHING)
            yield Part(name, hints.get(name, Any), default is NOTHING, default)


def record_type(kind: Any, parts: Mapping[str, JsonType], required: list[str]) -> JsonType:  # noqa: ANN401
    """The type of a record, from the types of its fields and the names of the required ones."""
    descriptions = parse_docstring(inspect.getdoc(kind) or "", parts).parameters
    properties: dict[str, Json] = {
        name: {**({"description": descriptions[name]} if name in descriptions else {}), **part.schema}
        for name, part in parts.items()
    }
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    schema |= {"required": list(required), "additionalProperties": False}
    build = cast("Callable[..., object]", dict if _is_typed_dict(kind) else kind)

    def read(value: Json) -> object:
        if not isinstance(value, Mapping):
            raise InvalidValue.of(value, "an object")
        for name in required:
            if name not in value:
                raise InvalidValue.of(value, f"an object with {name!r}")
        values: dict[str, object] = {}
        for name, item in value.items():
            if name not in parts:
                raise InvalidValue.of(value, f"an object without {name!r}")
            try:
                values[name] = parts[name].read(item)
            except InvalidValue as error:
                raise error.under(name) from None
        try:
            return build(**values)
        except (TypeError, ValueError) as error:
            raise InvalidValue(str(error)) from None

    return JsonType(schema, read)


def _is_typed_dict(kind: type) -> bool:
    """Whether it is a ``TypedDict``, of ``typing`` or of ``typing_extensions``, which can differ."""
    return is_typeddict(kind) or (issubclass(kind, dict) and hasattr(kind, "__required_keys__"))


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_required(name: str, hint: Any, typed_dict: Any) -> bool:  # noqa: ANN401
    """Whether a key is required.

    With postponed annotations, ``__required_keys__`` misses ``Required`` and ``NotRequired``, so this
    looks at the hint.
    """
    if (
        get_origin(hint) is not Required
        and get_origin(hint) is not NotRequired
        and hasattr(hint, "__metadata__")
    ):
        hint = get_args(hint)[0]
    if get_origin(hint) in {Required, NotRequired}:
        return get_origin(hint) is Required
    return name in typed_dict.__required_keys__
