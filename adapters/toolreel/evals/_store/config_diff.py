"""What differs between two effective configurations, a line each."""

from __future__ import annotations

from collections.abc import Mapping

from toolreel_core._jsontext.canonical import Json, JsonText, canonical, parse

__all__ = ["differences"]

_DEFAULT = "(default)"


def differences(before: JsonText, after: JsonText) -> tuple[str, ...]:
    """The places at which two configurations differ, with both values.

    >>> differences(canonical({"config": {"max_turns": 4}}), canonical({"config": {}}))
    ('config.max_turns: 4 -> (default)',)
    """
    old, new = _places(parse(before)), _places(parse(after))
    return tuple(
        f"{place}: {old.get(place, _DEFAULT)} -> {new.get(place, _DEFAULT)}"
        for place in dict.fromkeys((*old, *new))
        if old.get(place) != new.get(place)
    )


def _places(tree: Json, place: str = "") -> dict[str, str]:
    """Each value that is no object, by its place."""
    if not isinstance(tree, Mapping):
        return {place: canonical(tree)}
    inner = [_places(value, f"{place}.{key}" if place else key) for key, value in tree.items()]
    return {key: text for each in inner for key, text in each.items()}
