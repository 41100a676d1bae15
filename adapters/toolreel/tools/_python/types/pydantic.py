"""Types of pydantic's as JSON: its models, its own types, and annotations with its validators.

pydantic is no dependency: whoever has a type of its has imported it already.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from toolreel.tools._python.types.values import InvalidValue, JsonType
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, canonical

__all__ = ["is_pydantic", "pydantic_type"]

_MARKS = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__pydantic_validator__")


def is_pydantic(hint: object) -> bool:
    """Whether only pydantic knows what a type, or something in an annotation, means."""
    return any(hasattr(hint, mark) for mark in _MARKS)


def pydantic_type(hint: Any, place: str) -> tuple[JsonType, Mapping[str, Json]]:  # noqa: ANN401
    """The type as JSON, and the schemas that its own refers to by ``#/$defs/``.

    :raises ConfigError: if pydantic makes no schema of it
    """
    pydantic = import_module("pydantic")
    try:
        adapter = pydantic.TypeAdapter(hint)
        tree = _untitled(adapter.json_schema())
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no schema
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
    """The schema without the titles that pydantic makes of names, which cost tokens and tell nothing.

    :param names: whether the keys of this object are names, among which "title" is one like any other
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
