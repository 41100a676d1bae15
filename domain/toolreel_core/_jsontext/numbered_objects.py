"""Arrays encoded as objects with numeric keys, as PHP or Lua encode sparse arrays."""

from __future__ import annotations

from collections.abc import Mapping

from toolreel_core._jsontext.canonical import Json


def in_order(numbered: Mapping[str, Json]) -> dict[str, Json]:
    """An object with only numeric keys, sorted by number; empty for any other object.

    >>> in_order({"10": "b", "2": "a"}), in_order({"id": "a"})
    ({'2': 'a', '10': 'b'}, {})
    """
    if not all(key.isdecimal() and key.isascii() for key in numbered):
        return {}
    return {key: numbered[key] for key in sorted(numbered, key=_number)}


def _number(key: str) -> tuple[int, str]:
    """A key that sorts like the number, without converting digits of unlimited length."""
    digits = key.lstrip("0")
    return len(digits), digits
