"""Lists that came as objects under numbers, as some languages write an array with holes or of one element."""

from __future__ import annotations

from collections.abc import Mapping

from toolreel_core._jsontext.canonical import Json

__all__ = ["in_order"]


def in_order(numbered: Mapping[str, Json]) -> dict[str, Json]:
    """An object whose keys are all numbers, in the order of these; of any other object, nothing.

    >>> in_order({"10": "b", "2": "a"}), in_order({"id": "a"})
    ({'2': 'a', '10': 'b'}, {})
    """
    if not all(key.isdecimal() and key.isascii() for key in numbered):
        return {}
    return {key: numbered[key] for key in sorted(numbered, key=_number)}


def _number(key: str) -> tuple[int, str]:
    """Sorts as the number does, however long it is."""
    digits = key.lstrip("0")
    return len(digits), digits
