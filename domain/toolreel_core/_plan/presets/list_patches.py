"""Patches of lists of names, such as transforms: a list adds to what is there, an empty one clears it.

``{"only": [...]}`` clears and adds. It is also what clearing and then adding comes to, so that it does
not matter in which order several patches are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from toolreel_core._jsontext.canonical import Json

NamesPatch: TypeAlias = Json
"""A list of names, or ``{"only": names}``."""


def joined(before: NamesPatch, patch: NamesPatch) -> NamesPatch:
    """The patch that does what two do, one after the other.

    >>> joined(["a", "b"], ["b", "c"]), joined(["a"], []), joined([], ["a"])
    (['a', 'b', 'c'], [], {'only': ['a']})
    """
    if _clears(patch):
        return patch
    names: list[Json] = [*dict.fromkeys((*names_of(before), *names_of(patch)))]
    return {"only": names} if _clears(before) else names


def names_of(patch: NamesPatch) -> tuple[str, ...]:
    """The names in a patch."""
    names = patch.get("only") if isinstance(patch, Mapping) else patch
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()


def _clears(patch: NamesPatch) -> bool:
    return isinstance(patch, Mapping) or not patch
