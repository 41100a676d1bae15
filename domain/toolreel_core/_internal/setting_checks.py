"""Checks of settings by their annotations; each error names the key, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from functools import cache
from typing import Any, ClassVar, Final, Literal, Protocol, get_args, get_origin, get_type_hints

from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import unknown_name
from toolreel_core._jsontext.canonical import Json


class Settings(Protocol):
    """A frozen dataclass of settings, each with a default."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def check_keys(kind: type[Settings], changes: Mapping[str, object]) -> None:
    """Check that each key is one of the settings of a class.

    :raises ConfigError: if one is not, with the nearest name; all checks here raise it
    """
    known = [setting.name for setting in fields(kind)]
    for key in changes:
        if key not in known:
            raise ConfigError(unknown_name("setting", key, known))


def changed(settings: Settings) -> dict[str, Json]:
    """The settings that differ from their defaults."""
    given = ((setting, getattr(settings, setting.name)) for setting in fields(settings))
    return {setting.name: value for setting, value in given if value != setting.default}


def check_settings(settings: Settings, minima: Mapping[str, int]) -> None:
    """Check each setting by its annotation; amounts and anything unusual are left to the caller.

    :param minima: the minimum of each count for which it is not 1
    """
    for key, hint in _hints(type(settings)).items():
        value = getattr(settings, key)
        if hint is bool:
            check_switch(key, value)
        elif hint is str:
            check_text(key, value)
        elif hint in {int, int | None}:
            check_count(key, value, minima.get(key, 1), optional=hint is not int)
        elif get_origin(hint) is Literal:
            check_choice(key, value, get_args(hint))
        elif get_origin(hint) is tuple:
            object.__setattr__(settings, key, named(key, value))


_hints: Final = cache(get_type_hints)


def check_count(key: str, value: object, least: int, *, optional: bool) -> None:
    """A whole number; ``None`` turns an optional one off."""
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        off = ", or nothing to turn it off" if optional else ""
        raise ConfigError(f"{key}: expected a whole number of at least {least}{off}, got {value!r}")


def check_choice(key: str, value: object, allowed: tuple[str, ...]) -> None:
    """One of a few words."""
    if value not in allowed:
        words = ", ".join(word or '""' for word in allowed)
        raise ConfigError(f"{key}: expected one of {words}, got {value!r}")


def check_switch(key: str, value: object) -> None:
    """On or off."""
    if not isinstance(value, bool):
        raise ConfigError(f"{key}: expected true or false, got {value!r}")


def check_text(key: str, value: object) -> None:
    """Any text."""
    if not isinstance(value, str):
        raise ConfigError(f"{key}: expected a text, got {value!r}")


def named(key: str, value: object) -> tuple[str, ...]:
    """A list of names as a tuple; a set is not accepted, since it has no order."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(f"{key}: expected a list of names, got {value!r}")
    names = tuple(name for name in value if isinstance(name, str))
    if len(names) != len(value):
        raise ConfigError(f"{key}: expected a list of names, got {value!r}")
    return names
