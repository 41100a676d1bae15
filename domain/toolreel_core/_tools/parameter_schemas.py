"""Schemas of a tool's parameters: read from a mapping or a model class, checked, and put as they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeAlias

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, canonical, json_text, quote
from toolreel_core._schema import changed_within

_DEFS: Final = "#/$defs/"


class HasJsonSchema(Protocol):
    """An object with a schema, such as pydantic's ``TypeAdapter``; only the method counts."""

    def json_schema(self) -> Mapping[str, Any]:
        """The schema."""
        ...


class HasModelJsonSchema(Protocol):
    """A class with a schema, such as a pydantic model."""

    def model_json_schema(self) -> Mapping[str, Any]:
        """The schema."""
        ...


SchemaLike: TypeAlias = Mapping[str, Json] | HasJsonSchema | HasModelJsonSchema
"""A schema, or an object that has one."""


def schema_tree(given: SchemaLike) -> Mapping[str, Json]:
    """The schema as parsed JSON, with a reference at its root resolved.

    :raises ConfigError: if there is no schema
    """
    if isinstance(given, Mapping):
        return given
    for method in ("model_json_schema", "json_schema"):
        write = getattr(given, method, None)
        if callable(write):
            return opened(_written(write, f"{method}() of {given!r}"))
    raise ConfigError(
        f"{given!r} gives no schema; expected a JSON Schema as a mapping, "
        "or something with json_schema() or model_json_schema()"
    )


def schema_text(tree: Mapping[str, Json]) -> JsonText:
    """The canonical text of a schema.

    :raises ConfigError: if a part of it is not JSON, with its place, or it allows no object
    """
    text = json_text(tree, "parameters")
    kinds = tree.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        raise ConfigError(
            f"parameters: arguments are an object, but the schema has the type {canonical(kinds)}; "
            "make it a property of an object"
        )
    return text


def opened(tree: Mapping[str, Json]) -> Mapping[str, Json]:
    """A schema with a reference at its root resolved.

    msgspec, and pydantic for recursive models, put everything under ``$defs``; providers require
    ``type: object`` at the root.

    >>> opened({"$ref": "#/$defs/P", "$defs": {"P": {"type": "object"}}})
    {'type': 'object'}
    """
    reference, parts = tree.get("$ref"), tree.get("$defs")
    if not isinstance(reference, str) or not isinstance(parts, Mapping):
        return tree
    part = parts.get(reference.removeprefix(_DEFS))
    if not isinstance(part, Mapping):
        return tree
    root = {**part, **{key: value for key, value in tree.items() if key not in {"$ref", "$defs"}}}
    others = {name: value for name, value in parts.items() if name != reference.removeprefix(_DEFS)}
    if quote(reference) in json_text({**root, "$defs": others}, "parameters"):
        return {**root, "$defs": parts}
    return {**root, "$defs": others} if others else root


def _written(write: Any, what: str) -> Mapping[str, Json]:  # noqa: ANN401 - a method of anything
    try:
        tree = write()
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no schema
        why, _, _ = str(error).partition("\n")
        hint = "; of a class, it has to be a class method" if isinstance(error, TypeError) else ""
        raise ConfigError(f"{what} failed with {type(error).__name__}: {why}{hint}") from None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{what} returned a {type(tree).__name__}; expected a JSON Schema as a mapping")
    return tree


def sendable(schema: Json) -> Json:
    """A schema without empty ``required`` lists, at any depth; validators of older drafts reject those.

    >>> sendable({"type": "object", "required": [], "default": {"required": []}})
    {'type': 'object', 'default': {'required': []}}
    """
    if not isinstance(schema, Mapping):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword != "required" or value}
    return changed_within(kept, sendable)
