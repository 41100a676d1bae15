"""Where the schema of a tool's arguments comes from: a mapping, or something that can write its own.

Pydantic models have ``model_json_schema()``, pydantic's ``TypeAdapter`` and others ``json_schema()``;
neither has to be installed, since only the method counts. :func:`sendable` is the form in which a schema
goes out: validators of the older drafts refuse an empty ``required: []``, which says the same as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeAlias

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, JsonText, quote
from toolreel_core._jsontext.of_python import json_text
from toolreel_core._schema.walk import changed_within

_DEFS: Final = "#/$defs/"


class HasJsonSchema(Protocol):
    """Something that writes its own schema."""

    def json_schema(self) -> Mapping[str, Any]:
        """The schema."""
        ...


class HasModelJsonSchema(Protocol):
    """A class, such as a pydantic model, that writes its own schema."""

    def model_json_schema(self) -> Mapping[str, Any]:
        """The schema."""
        ...


SchemaLike: TypeAlias = Mapping[str, Json] | HasJsonSchema | HasModelJsonSchema
"""A schema, or what can write one."""


def schema_tree(given: SchemaLike) -> Mapping[str, Json]:
    """The schema, as parsed JSON; one that only refers to a part of itself is opened.

    :raises ConfigError: if there is none to be had
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

    :raises ConfigError: if there is something in it that JSON cannot carry; it names the place
    """
    return json_text(tree, "parameters")


def opened(tree: Mapping[str, Json]) -> Mapping[str, Json]:
    """A schema whose root says itself what it is.

    msgspec, and pydantic for models that hold themselves, put everything under ``$defs`` and let the root
    refer there; providers want ``type: object`` at the root.

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
    if quote(reference) in schema_text({**root, "$defs": others}):
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
    """A schema without empty ``required`` lists, at any depth; everything else stays, in its order.

    >>> sendable({"type": "object", "required": [], "default": {"required": []}})
    {'type': 'object', 'default': {'required': []}}
    """
    if not isinstance(schema, Mapping):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword != "required" or value}
    return changed_within(kept, sendable)
