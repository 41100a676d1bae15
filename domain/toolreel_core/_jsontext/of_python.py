"""Canonical JSON text of a user's Python value, or an error that names the invalid place.

Values are checked before they are encoded, because ``json.dumps`` names no place, and silently turns numbers
and ``None`` into strings if they are keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import MAX_DEPTH, Json, JsonText, canonical, sound

_ALLOWED: Final = "use None, a bool, a number, a str, a list or a dict"

_Path: TypeAlias = tuple[str | int, ...]
"""The way to a value: the name of the whole, then keys and indices."""


def json_text(value: object, name: str) -> JsonText:
    """The canonical text of a value.

    >>> json_text({"temperature": float("nan")}, "options")
    Traceback (most recent call last):
    ...
    toolreel_core.ConfigError: options.temperature: nan is not JSON; use a finite number

    :param name: name of the whole value in errors, such as ``options``
    :raises ConfigError: if a part of it cannot be encoded as JSON
    """
    for path, why in _complaints(value, (name,)):
        raise ConfigError(f"{_place(path)}: {why}")
    return canonical(cast("Json", value))


def _complaints(value: object, path: _Path) -> Iterator[tuple[_Path, str]]:
    """The errors of a value with their paths, in document order."""
    match value:
        case None | bool():
            return
        case str():
            if sound(value) != value:
                yield path, "holds a lone surrogate, which cannot be sent"
        case int() | float():
            if not _is_written(value):
                shown = value if isinstance(value, float) else "an integer this long"
                yield path, f"{shown} is not JSON; use a finite number"
        case dict() | list() | tuple():
            if len(path) > MAX_DEPTH:
                yield path[:1], f"nested deeper than {MAX_DEPTH} levels"
            elif isinstance(value, dict):
                yield from _of_object(value, path)
            else:
                for index, item in enumerate(value):
                    yield from _complaints(item, (*path, index))
        case _:
            yield path, f"a {type(value).__name__} is not JSON; {_ALLOWED}"


def _of_object(value: dict[object, object], path: _Path) -> Iterator[tuple[_Path, str]]:
    for key, item in value.items():
        if not isinstance(key, str):
            yield path, f"the key {key!r} is not JSON; use a str"
        elif sound(key) != key:
            yield path, f"the key {key!r} holds a lone surrogate, which cannot be sent"
        else:
            yield from _complaints(item, (*path, key))


def _is_written(number: float) -> bool:
    """Whether it is finite, and has no more digits than Python writes."""
    try:
        canonical(number)
    except ValueError:
        return False
    return True


def _place(path: _Path) -> str:
    whole, *steps = path
    return f"{whole}{''.join(f'[{step}]' if isinstance(step, int) else f'.{step}' for step in steps)}"
