"""Checks of what users write: settings, by their annotations, and tables of data, key by key.

Tables are trees as TOML and JSON give them. Each error is one line with the place, the value and what is
allowed, so that the reader of a file can add its name and the line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._lazy_pattern import lazy_pattern

# Registries of named functions, and suggestions for unknown names.


_MANY: Final = 30
_FEW: Final = 12


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The complaint about a name that does not exist, with the nearest one that does.

    >>> unknown_name("setting", "max_turn", ["max_turns"])
    "there is no setting 'max_turn'; did you mean 'max_turns'?"
    """
    names = list(known)
    from difflib import get_close_matches  # noqa: PLC0415 - few programs have a wrong name

    # Below 0.65, short names match by chance: 'nope' is 0.6 of 'openai'. Related names begin alike, or one
    # contains the other.
    alike = [one for one in names if one[:1] == name[:1] or name in one]
    close = get_close_matches(name, names, n=1, cutoff=0.65) or get_close_matches(name, alike, 1, 0.5)
    # A line with all the dialects says less than one that can be read.
    shown = names if len(names) <= _MANY else [*names[:_FEW], f"and {len(names) - _FEW} more"]
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(shown)}"
    return f"there is no {what} {name!r}; {hint}"


_NAME: Final = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")
"""A registered name; it stands in plans, so it is kept simple."""

_Thing = TypeVar("_Thing")


class Registry(Generic[_Thing]):
    """What there is of one kind, by name.

    :param kind: what errors call it, such as ``history policy``
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._things: dict[str, _Thing] = {}

    def add(self, name: str, thing: _Thing) -> None:
        """Give something a name, once and for all.

        >>> shades = Registry[int]("shade")
        >>> shades.add("dark", 9)
        >>> shades.add("dark", 8)
        Traceback (most recent call last):
        ...
        toolreel_core.ConfigError: there is a shade 'dark' already; choose another name

        :raises ConfigError: if the name is taken, or is none
        """
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{self._kind} {name!r}: a name begins with a small letter and has only small letters, "
                "digits and _, at most 64"
            )
        if name in self._things:
            raise ConfigError(f"there is a {self._kind} {name!r} already; choose another name")
        self._things[name] = thing

    def __getitem__(self, name: str) -> _Thing:
        """What has that name.

        :raises ConfigError: if nothing has; it names the nearest
        """
        if name not in self._things:
            hint = unknown_name(self._kind, name, self._things)
            # A plan has only the name, and the process that loads it may not have imported the function yet.
            stop = "" if hint.endswith("?") else "."
            first = "before you make or load the plan; a command does with --import MODULE"
            raise ConfigError(f"{hint}{stop} If it is your own, import the module that registers it {first}")
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        """All names, in the order in which they were added."""
        return iter(self._things)


def matches_wildcard(pattern: str, text: str) -> bool:
    """Whether the whole text matches the pattern, in which ``*`` stands for any text.

    >>> (
    ...     matches_wildcard("files.*", "files.read"),
    ...     matches_wildcard("*read", "files.read"),
    ...     matches_wildcard("files", "files.read"),
    ... )
    (True, True, False)
    """
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))


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


def changed_settings(settings: Settings) -> dict[str, Json]:
    """The settings that differ from their defaults."""
    given = ((setting, getattr(settings, setting.name)) for setting in fields(settings))
    return {setting.name: value for setting, value in given if value != setting.default}


def check_settings(settings: Settings, minima: Mapping[str, int]) -> None:
    """Check each setting by its annotation; amounts and anything unusual are left to the caller.

    :param minima: the minimum of each count for which it is not 1
    """
    for key, hint in _hints(type(settings)).items():
        value: Any = getattr(settings, key)
        if hint is bool:
            _require(key, value, "true or false", isinstance(value, bool))
        elif hint is str:
            _require(key, value, "a text", isinstance(value, str))
        elif hint in {int, int | None}:
            least, off = minima.get(key, 1), "" if hint is int else ", or nothing to turn it off"
            is_count = isinstance(value, int) and not isinstance(value, bool) and value >= least
            is_off = value is None and hint is not int
            _require(key, value, f"a whole number of at least {least}{off}", is_count or is_off)
        elif get_origin(hint) is Literal:
            check_choice(key, value, get_args(hint))
        elif get_origin(hint) is tuple:
            # A set is not accepted, since it has no order.
            is_list = isinstance(value, Sequence) and not isinstance(value, str)
            is_named = is_list and all(isinstance(name, str) for name in value)
            _require(key, value, "a list of names", is_named)
            object.__setattr__(settings, key, tuple(value))


_hints: Final = cache(get_type_hints)


def _require(key: str, value: object, expected: str, is_right: bool) -> None:
    if not is_right:
        raise ConfigError(f"{key}: expected {expected}, got {value!r}")


def check_registered(key: str, names: Iterable[str], find: Callable[[str], object]) -> None:
    """Names that a lookup finds."""
    for name in names:
        try:
            find(name)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None


def check_choice(key: str, value: object, allowed: tuple[str, ...]) -> None:
    """One of a few words."""
    words = ", ".join(word or '""' for word in allowed)
    _require(key, value, f"one of {words}", value in allowed)


_BARE: Final = lazy_pattern(r"[\w-]+", re.ASCII)
"""A key that TOML takes without quotes."""
_DAY: Final = lazy_pattern(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", re.ASCII)
"""A date as year, month and day."""


class PlaceError(ConfigError):
    """A value that cannot be used; ``place`` says where it stands, ``what`` is wrong with it."""

    def __init__(self, place: tuple[str, ...], what: str) -> None:
        """The text is place and complaint: ``preset.mine.about: expected a text, got 3``."""
        # As TOML would write it.
        keys = [key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in place]
        super().__init__(f"{'.'.join(keys)}: {what}" if place else what)
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
        toolreel_core._config_checks.PlaceError: preset.mine: expected a table, got 3
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
        """The tables in this table, by name."""
        return tuple((key, self.table(key)) for key in self.values)

    def _typed(self, key: str, default: _Thing, kind: type[_Thing], expected: str) -> _Thing:
        value = self.values.get(key, default)
        if type(value) is not kind:
            raise self.complaint(f"expected {expected}, got {value!r}", key)
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        return self._typed(key, default, str, "a text")

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of a few words; it must be there."""
        value = self.values.get(key)
        if value not in allowed:
            raise self.complaint(f"expected one of {', '.join(allowed)}, got {value!r}", key)
        return str(value)

    def day(self, key: str) -> str:
        """A day as ``YYYY-MM-DD``, or an empty text."""
        value = self.text(key)
        if value and not _DAY.fullmatch(value):
            raise self.complaint(f"expected a day such as 2026-11-22, got {value!r}", key)
        return value

    def whole(self, key: str, least: int = 0, default: int = 0) -> int:
        """A whole number."""
        expected = f"a whole number of at least {least}"
        value = self._typed(key, default, int, expected)
        if value < least:
            raise self.complaint(f"expected {expected}, got {value!r}", key)
        return value

    def amount(self, key: str, default: float | None = None) -> float | None:
        """A number of at least 0, such as seconds or money."""
        value = self.values.get(key, default)
        if value is None:
            return None
        if type(value) not in {int, float} or not 0 <= value < math.inf:
            raise self.complaint(f"expected a number of at least 0, got {value!r}", key)
        return float(value)

    def switch(self, key: str, default: bool) -> bool:
        """On or off."""
        return self._typed(key, default, bool, "true or false")

    def names(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts, none of them empty, each of them once."""
        value = self.values.get(key, default)
        is_list = isinstance(value, list | tuple)
        if not is_list or not all(name and isinstance(name, str) for name in value):
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
