"""What ``ok`` in the object that a Python tool returned means: whether the call failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext.canonical import Json

OkKey: TypeAlias = Literal["envelope", "failure", "data"]
"""``envelope``: it counts in an object that has no keys but those of an envelope; ``failure``: also next to
any other keys, when it is false, and ``error`` says why; ``data``: it never counts."""

_ENVELOPE: Final = frozenset({"ok", "tool_name", "data", "warnings", "errors"})


def counted(value: Json, ok_key: OkKey) -> Json:
    """What a tool returned, in the form in which the loop reads it as it is meant.

    >>> counted({"ok": False, "error": "No room.", "left": 3}, "failure")
    {'ok': False, 'data': {'left': 3}, 'warnings': None, 'errors': ['No room.']}
    >>> counted({"ok": False, "data": {}}, "data")
    {'ok': True, 'data': {'ok': False, 'data': {}}}
    """
    if ok_key == "envelope" or not isinstance(value, Mapping) or not isinstance(value.get("ok"), bool):
        return value
    if ok_key == "data":
        return {"ok": True, "data": value}
    return value if value["ok"] or value.keys() <= _ENVELOPE else _failure(value)


def _failure(value: Mapping[str, Json]) -> Json:
    """The envelope of a failure: what has no place in it is data."""
    named = _ENVELOPE | {"error"}
    further = {key: item for key, item in value.items() if key not in named}
    data = value.get("data", {})
    if further:
        data = {**further, **({"data": data} if "data" in value else {})}
    errors = [each for key in ("error", "errors") for each in _listed(value.get(key))]
    return {"ok": False, "data": data, "warnings": value.get("warnings"), "errors": errors}


def _listed(errors: Json) -> list[Json]:
    if errors is None:
        return []
    return [*errors] if isinstance(errors, (list, tuple)) else [errors]
