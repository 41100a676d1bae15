"""Models of pydantic and structs of msgspec as JSON types, by the library that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from toolreel.tools._python.types.value_readers import InvalidValue, JsonType
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, canonical

_MARKS: Final = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__pydantic_validator__")


def is_pydantic(hint: object) -> bool:
    """Whether only pydantic can interpret a type or an annotation."""
    return any(hasattr(hint, mark) for mark in _MARKS)


def pydantic_type(hint: Any, place: str) -> tuple[JsonType, Mapping[str, Json]]:  # noqa: ANN401
    """The type as JSON, and the schemas under ``#/$defs/`` that it refers to.

    :raises ConfigError: if pydantic cannot generate a schema
    """
    pydantic = import_module("pydantic")
    try:
        adapter = pydantic.TypeAdapter(hint)
        tree = _untitled(adapter.json_schema())
    except Exception as error:  # noqa: BLE001 - pydantic raises many classes, all mean that there is no schema
        why, _, _ = str(error).partition("\n")
        raise ConfigError(f"{place}: pydantic makes no schema of {hint!r}: {why}") from None

    def read(value: Json) -> object:
        try:
            return adapter.validate_json(canonical(value))
        except pydantic.ValidationError as error:
            first, *_ = error.errors(include_url=False, include_context=False)
            raise InvalidValue(str(first["msg"]), tuple(first["loc"])) from None

    shared: Mapping[str, Json] = tree.pop("$defs", {})
    return JsonType(tree, read), shared


def _untitled(tree: Any, *, names: bool = False) -> Any:  # noqa: ANN401 - a tree of JSON
    """The schema without the titles that pydantic generates from names: they cost tokens and add nothing.

    :param names: whether the keys of this object are names, so that "title" is an ordinary name
    """
    if isinstance(tree, list):
        return [_untitled(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _untitled(value, names=not names and key in {"properties", "$defs"})
        if key not in {"default", "const", "enum", "examples"} or names
        else value
        for key, value in tree.items()
        if names or key != "title" or not isinstance(value, str)
    }


def is_struct(hint: object) -> bool:
    """Whether a type is a struct of msgspec."""
    return isinstance(hint, type) and hasattr(hint, "__struct_config__")


def struct_type(hint: Any, place: str) -> tuple[JsonType, Mapping[str, Json]]:  # noqa: ANN401 - a struct
    """The type as JSON, and the schemas under ``#/$defs/`` that it refers to.

    :raises ConfigError: if msgspec cannot generate a schema
    """
    msgspec = import_module("msgspec")
    try:
        (tree,), shared = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise ConfigError(f"{place}: msgspec makes no schema of {hint!r}: {error}") from None

    def read(value: Json) -> object:
        try:
            return msgspec.json.decode(canonical(value).encode(), type=hint)
        except msgspec.ValidationError as error:
            raise InvalidValue(str(error)) from None

    return JsonType(_untitled(tree), read), _untitled(shared, names=True)
