"""Reading data that somebody wrote: one table, key by key; each complaint names the place.

What is read are trees as TOML and JSON give them. The complaint about a value is one line with its
place, the value and what is allowed, so that whoever knows the file can add file and line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import unknown_name
from toolreel_core._jsontext.canonical import JsonText, canonical

_BARE: Final = re.compile(r"[\w-]+", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", re.ASCII)


class PlaceError(ConfigError):
    """A value that cannot be used; ``place`` says where it stands, ``what`` is wrong with it."""

    def __init__(self, place: tuple[str, ...], what: str) -> None:
        """The text is place and complaint: ``preset.mine.about: expected a text, got 3``."""
        super().__init__(f"{_dotted(place)}: {what}" if place else what)
        self.place = place
        self.what = what


@dataclass(frozen=True, slots=True)
class Table:
    """One table, and where it stands.

    Every method that reads a key raises :class:`PlaceError` if the value is not as it should be.
    """

    place: tuple[str, ...]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, value: object, *place: str) -> Table:
        """The table that stands at a place.

        >>> Table.of(3, "preset", "mine")
        Traceback (most recent call last):
        ...
        toolreel_core._internal.tables.PlaceError: preset.mine: expected a table, got 3
        """
        if not isinstance(value, Mapping):
            raise PlaceError(place, f"expected a table, got {value!r}")
        if names := [key for key in value if not isinstance(key, str)]:
            raise PlaceError(place, f"expected texts as keys, got {names[0]!r}")
        return cls(place, value)

    def complaint(self, what: str, *key: str) -> PlaceError:
        """The error about this table, or about one of its keys."""
        return PlaceError((*self.place, *key), what)

    def only(self, *known: str) -> Table:
        """The same table, if it has no other keys than these."""
        for key in self.values:
            if key not in known:
                raise self.complaint(unknown_name("key", key, known))
        return self

    def table(self, key: str) -> Table:
        """The table under a key; empty if there is none."""
        return Table.of(self.values.get(key, {}), *self.place, key)

    def tables(self) -> tuple[tuple[str, Table], ...]:
        """All that stands in this table, which are tables, by name."""
        return tuple((key, self.table(key)) for key in self.values)

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.complaint(f"expected a text, got {value!r}", key)
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of a few words; it must be there."""
        value = self.values.get(key)
        if not isinstance(value, str) or value not in allowed:
            raise self.complaint(f"expected one of {', '.join(allowed)}, got {value!r}", key)
        return value

    def day(self, key: str) -> str:
        """A day as ``YYYY-MM-DD``, or an empty text."""
        value = self.text(key)
        if value and not _DAY.fullmatch(value):
            raise self.complaint(f"expected a day such as 2026-11-22, got {value!r}", key)
        return value

    def count(self, key: str) -> int:
        """A whole number of at least 0; 0 if there is none."""
        value = self.values.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.complaint(f"expected a whole number of at least 0, got {value!r}", key)
        return value

    def whole(self, key: str, least: int, default: int) -> int:
        """A whole number of at least so much."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.complaint(f"expected a whole number of at least {least}, got {value!r}", key)
        return value

    def amount(self, key: str, default: float | None = None) -> float | None:
        """A number of at least 0, such as seconds or money."""
        value = self.values.get(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise self.complaint(f"expected a number of at least 0, got {value!r}", key)
        return float(value)

    def switch(self, key: str, default: bool) -> bool:
        """On or off."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.complaint(f"expected true or false, got {value!r}", key)
        return value

    def names(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts, none of them empty, each of them once."""
        value = self.values.get(key, default)
        if not isinstance(value, list | tuple) or not all(name and isinstance(name, str) for name in value):
            raise self.complaint(f"expected a list of texts, got {value!r}", key)
        return tuple(dict.fromkeys(value))

    def json(self) -> JsonText:
        """The whole table as JSON."""
        for key, value in self.values.items():
            try:
                canonical(value)
            except (TypeError, ValueError):
                raise self.complaint(f"expected what JSON can hold, got {value!r}", key) from None
        return canonical(self.values)

    def checked(self, check: Callable[[Mapping[str, Any]], object]) -> Table:
        """The same table, if a check finds nothing; what is wrong with a value is said at its place.

        :param check: raises :class:`ConfigError`, whose text begins with the key where it is about one
        """
        try:
            check(self.values)
        except ConfigError as error:
            key, _, what = str(error).partition(": ")
            about = self.complaint(what, key) if key in self.values else self.complaint(str(error))
            raise about from None
        return self


def _dotted(place: Iterable[str]) -> str:
    """A place as TOML would write it."""
    return ".".join(key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in place)
