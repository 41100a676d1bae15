"""Options of the form ``KEY=VALUE,...``."""

from __future__ import annotations

from collections.abc import Collection

from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name


def key_values(option: str, text: str, known: Collection[str], example: str) -> dict[str, str]:
    """The items of one option, by name.

    >>> key_values("--limit", "requests=60, tokens=9000", ["requests", "tokens"], "requests=60")
    {'requests': '60', 'tokens': '9000'}

    :param example: an item that is right, for errors
    :raises ConfigError: if an item is none, a key does not exist, or one is given twice
    """
    found = dict[str, str]()
    for item in text.split(","):
        key, equals, value = item.strip().partition("=")
        if not equals or not value:
            raise ConfigError(f"{option} {item!r}: expected key=value, for example {example}")
        if key not in known:
            raise ConfigError(f"{option}: {unknown_name('key', key, known)}")
        if key in found:
            raise ConfigError(f"{option}: {key} is given twice")
        found[key] = value
    return found
