"""Placeholders: ``{name}`` in a scenario's texts stands for the value that a trial has drawn.

``{{name}}`` is the text ``{name}`` itself. Other braces are left alone, so a text can contain JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from toolreel_core._internal.config_checks import PlaceError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Json, canonical

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_ANY: Final = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")
"""A placeholder, or the doubled braces that stand for the text itself."""
_BARE: Final = re.compile(rf"\{{({_NAME})\}}")
"""A placeholder alone: its value keeps its type."""


def filled(value: Json, values: Mapping[str, Json]) -> Json:
    """A value with the drawn values in it; a text that is one placeholder takes the value's type.

    >>> filled({"pieces": "{n}", "note": "{n} of {{n}}"}, {"n": 3})
    {'pieces': 3, 'note': '3 of {n}'}
    """
    match value:
        case str():
            bare = _BARE.fullmatch(value)
            return values[bare[1]] if bare else filled_text(value, values)
        case Mapping():
            return {filled_text(key, values): filled(item, values) for key, item in value.items()}
        case Sequence():
            return [filled(item, values) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            assert_never(value)


def filled_text(text: str, values: Mapping[str, Json]) -> str:
    """A text with the drawn values in it."""

    def put(found: re.Match[str]) -> str:
        return f"{{{found[1]}}}" if found[1] else _written(values[found[2]])

    return _ANY.sub(put, text)


def escaped(value: Json) -> Json:
    """A value whose braces stand for themselves when it is filled.

    >>> filled(escaped("as {name}"), {})
    'as {name}'
    """
    match value:
        case str():
            return _BARE.sub(r"{{\1}}", value)
        case Mapping():
            return {str(escaped(key)): escaped(item) for key, item in value.items()}
        case Sequence():
            return [escaped(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            assert_never(value)


def check_placeholders(value: Json, known: Mapping[str, object], *place: str) -> None:
    """Refuse a placeholder that nothing is drawn for.

    :raises PlaceError: at the place
    """
    for name in _names(value):
        if name not in known:
            what = unknown_name("draw", name, known) if known else f"nothing is drawn for {{{name}}}"
            raise PlaceError(place, f"{what} (for the text itself, write {{{{{name}}}}})")


def _names(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield from (found[2] for found in _ANY.finditer(value) if found[2])
        case Mapping():
            for key, item in value.items():
                yield from _names(key)
                yield from _names(item)
        case Sequence():
            for item in value:
                yield from _names(item)
        case None | bool() | int() | float():
            return
        case _:
            assert_never(value)


def _written(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)
