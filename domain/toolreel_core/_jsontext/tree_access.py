"""Parsed JSON: safe access to trees of unknown shape, deep merging, and conversion of Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import MAX_DEPTH, Json, JsonText, Tree, canonical, encodable_text


def as_tree(value: Json) -> Tree:
    return value if isinstance(value, Mapping) else {}


def list_at(tree: Tree, key: str) -> Sequence[Json]:
    value = tree.get(key)
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def as_list(value: Json) -> Sequence[Json]:
    """The value if it is a list, else a list of nothing but the value."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    list: "array",
}


def json_type(value: Json) -> str:
    # By the exact class, since a bool is also an int; objects have several classes, among them pmap.
    return _TYPES.get(type(value), "object")


def schema_types(schema: Tree) -> list[str]:
    """What a schema has under ``type``: one name, or several."""
    return [kind for kind in as_list(schema.get("type")) if isinstance(kind, str)]


def text_at(tree: Tree, key: str) -> str:
    value = tree.get(key)
    return value if isinstance(value, str) else ""


def tree_at(tree: Tree, *path: str) -> Tree:
    """The object at the end of a path of keys; empty if there is none."""
    for key in path:
        tree = as_tree(tree.get(key))
    return tree


def value_at_json_pointer(root: Json, pointer: str) -> Json:
    """The target of a JSON pointer, such as ``#/$defs/Unit`` or ``/draft/list/1``; null if there is none."""
    for step in pointer.split("/")[1:]:
        if isinstance(root, list | tuple):
            plain = step.isascii() and step.isdigit() and len(step) < _LONG_INDEX
            root = root[int(step)] if plain and int(step) < len(root) else None
        else:
            # RFC 6901: `~1` first, so that `~01` means `~1` and not a slash.
            root = as_tree(root).get(step.replace("~1", "/").replace("~0", "~"))
    return root


_LONG_INDEX = 10
"""Digits that no index has, and that take long to read."""


def calls_of(message: Tree) -> Sequence[Json]:
    return list_at(message, "tool_calls") if message.get("role") == "assistant" else ()


def is_blank(value: Json) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def in_numeric_order(numbered: Mapping[str, Json]) -> dict[str, Json]:
    """An object with only numeric keys, sorted by number; empty for any other object."""
    if not all(key.isdecimal() and key.isascii() for key in numbered):
        return {}
    return {key: numbered[key] for key in sorted(numbered, key=_number_sort_key)}


def _number_sort_key(key: str) -> tuple[int, str]:
    """A key that sorts like the number, without converting digits of unlimited length."""
    digits = key.lstrip("0")
    return len(digits), digits


def merged(base: Tree, patch: Tree) -> Tree:
    """The object with a patch applied: objects are merged deeply, lists and all else are replaced."""
    tree = dict(base)
    for key, value in patch.items():
        old = tree.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            tree[key] = merged(old, value)
        else:
            tree[key] = value
    return tree


_ALLOWED = "use None, a bool, a number, a str, a list or a dict"
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
"""The one error without a place: that would be as long."""


def json_text(value: object, name: str) -> JsonText:
    """The canonical text of a value; an error says which part of what ``name`` calls it is not JSON.

    :param name: name of the whole value in errors, such as ``options``
    """
    if why := _json_fault_in_value(value, name, MAX_DEPTH):
        raise ConfigError(f"{name}: {why}" if why == _TOO_DEEP else why)
    return canonical(cast("Json", value))


def _json_fault_in_value(value: object, path: str, levels: int) -> str:
    """The place of the first part that is not JSON, and why; empty if there is none."""
    match value:
        case None | bool():
            return ""
        case str():
            sent = encodable_text(value) == value
            return "" if sent else f"{path}: holds a lone surrogate, which cannot be sent"
        case int() | float():
            try:
                canonical(value)
            except ValueError:
                shown = value if isinstance(value, float) else "an integer this long"
                return f"{path}: {shown} is not JSON; use a finite number"
            return ""
        case dict():
            inside = (_error_of_member(key, item, path, levels) for key, item in value.items())
        case list() | tuple():
            inside = (
                _json_fault_in_value(item, f"{path}[{place}]", levels - 1) for place, item in enumerate(value)
            )
        case _:
            return f"{path}: a {type(value).__name__} is not JSON; {_ALLOWED}"
    return next(filter(None, inside), "") if levels else _TOO_DEEP


def _error_of_member(key: object, item: object, path: str, levels: int) -> str:
    if not isinstance(key, str):
        return f"{path}: the key {key!r} is not JSON; use a str"
    if encodable_text(key) != key:
        return f"{path}: the key {key!r} holds a lone surrogate, which cannot be sent"
    return _json_fault_in_value(item, f"{path}.{key}", levels - 1)
