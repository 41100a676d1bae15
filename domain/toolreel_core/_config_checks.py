"""Checks of what users write: settings, by their annotations, and tables of data, key by key.

Tables are trees as TOML and JSON give them. Each error is one line with the place, the value and what is
allowed, so that the reader of a file can add its name and the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._lazy_pattern import lazy_pattern

# Registries of named functions, and suggestions for unknown names.


_Thing = TypeVar("_Thing")
# Names that an error lists: all of up to 30, else the first 12; of dialects, there are 51.
_MANY = 30
_FEW = 12


def unknown_name_message(what: str, name: str, known: Iterable[str], remedy: str = "") -> str:
    """The complaint about a name that does not exist, with the nearest one that does.

    :param remedy: a sentence that follows
    """
    names = list(known)
    from difflib import get_close_matches  # noqa: PLC0415 - few programs have a wrong name

    # Below 0.65, short names match by chance: 'nope' is 0.6 of 'openai'.
    close = get_close_matches(name, names, 1, 0.65) or [one for one in names if name in one]
    shown = names if len(names) <= _MANY else [*names[:_FEW], f"and {len(names) - _FEW} more"]
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(shown)}"
    if remedy:
        hint += f" {remedy}" if close else f". {remedy}"
    return f"there is no {what} {name!r}; {hint}"


def item_named(what: str, name: str, items: Mapping[str, _Thing]) -> _Thing:
    if name not in items:
        raise ConfigError(unknown_name_message(what, name, filter(None, items)))
    return items[name]


_NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")
"""A registered name; it stands in plans, so it is kept simple."""


class Registry(dict[str, _Thing]):
    """What there is of one kind, by name; errors call it ``kind``, such as ``history policy``."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def add(self, name: str, thing: _Thing) -> None:
        """Give something a name, once and for all."""
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{self._kind} {name!r}: a name begins with a small letter and has only small letters, "
                "digits and _, at most 64"
            )
        if name in self:
            raise ConfigError(f"there is a {self._kind} {name!r} already; choose another name")
        self[name] = thing

    def __missing__(self, name: str) -> NoReturn:
        # A plan has only the name, and the process that loads it may not have imported the function yet.
        remedy = (
            "If it is your own, import the module that registers it before you make or load the plan; "
            "a command does with --import MODULE"
        )
        raise ConfigError(unknown_name_message(self._kind, name, self, remedy))


def matches_wildcard(pattern: str, text: str) -> bool:
    """Whether the whole text matches the pattern, in which ``*`` stands for any text."""
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))


class Settings:
    """What frozen dataclasses of settings have in common; each setting has a default."""

    __slots__ = ()

    @classmethod
    def of(cls, changes: Mapping[str, Any]) -> Self:
        """The defaults with these changes; an error about an unknown setting names the nearest."""
        for key in changes:
            item_named("setting", key, cast("Any", cls).__dataclass_fields__)
        return cls(**changes)

    def changes(self) -> dict[str, Json]:
        """The settings that differ from their defaults: what records and digests have of them."""
        given = ((each.name, getattr(self, each.name), each.default) for each in fields(cast("Any", self)))
        return {name: value for name, value, default in given if value != default}


Natural: TypeAlias = Annotated[int, 0]
"""A whole number that may be 0: any other is at least 1, or what its annotation says."""


def check_and_convert_settings(settings: object) -> None:
    """Check each setting by its annotation, and give it the form that the annotation says."""
    hints = _hints(cast("Any", type(settings)))
    for each in fields(cast("Any", settings)):
        value = getattr(settings, each.name)
        # Halves the time of ``LoopConfig()``; a test shows that each default reads as itself.
        if value is each.default:
            continue
        try:
            object.__setattr__(settings, each.name, read_setting(hints[each.name], value))
        except ConfigError as error:
            raise ConfigError(f"{each.name}: {error}") from None


_hints = cache(partial(get_type_hints, include_extras=True))
# Below the largest float: neither infinity nor a whole number that float() cannot convert.
_LARGEST = 1e308
_OTHER = object()
"""Stands for a value of another type."""
_WORDS: Mapping[Any, str] = {str: "a text", bool: "true or false", list: "a list", NoneType: "nothing"}


def read_setting(hint: Any, value: Any) -> Any:  # noqa: ANN401 - of the annotation
    """A value as a setting with this annotation has it: from TOML, JSON, or Python."""
    words, read = _expected_phrase_and_value(hint, value)
    if read is _OTHER:
        raise ConfigError(f"expected {words}, got {value!r}")
    return read


def _expected_phrase_and_value(hint: Any, value: Any) -> tuple[str, Any]:  # noqa: ANN401 - of the annotation
    """What a value has to be, in words, and what is read; :data:`_OTHER` if it is something else."""
    if hint in _WORDS:
        return _WORDS[hint], value if isinstance(value, hint) else _OTHER
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        words, values = zip(*(_expected_phrase_and_value(each, value) for each in args), strict=True)
        return " or ".join(words), next((each for each in values if each is not _OTHER), _OTHER)
    if origin is Literal:
        return _one_of_phrase(args), value if value in args else _OTHER
    if hint is int or origin is Annotated:
        least = args[1] if args else 1
        is_count = type(value) is int and value >= least
        return f"a whole number of at least {least}", value if is_count else _OTHER
    if hint is float:
        is_amount = type(value) in {int, float} and 0 <= value <= _LARGEST
        # 1 and 1.0 must give equal plans equal digests.
        return "a number of at least 0", float(value) if is_amount else _OTHER
    if origin is tuple and args[0] is str:
        # A set is not accepted, since it has no order.
        is_list = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
        return "a list of texts", tuple(value) if is_list else _OTHER
    if isinstance(hint, type) and hint is not JsonText and not is_dataclass(hint):
        return hint.__name__, value if isinstance(value, hint) else _OTHER
    if not isinstance(value, Mapping):
        return "a table", _OTHER
    table = Table.of(value)
    if hint is JsonText:
        return "a table", table.json()
    if is_dataclass(hint):
        return "a table", table.build(cast("type[Any]", hint))
    pairs = {key: table.value(key, get_args(args[0])[1] if origin is tuple else args[1]) for key in value}
    return "a table", tuple(pairs.items()) if origin is tuple else pairs


def check_registered(key: str, names: Iterable[str], find: Callable[[str], object]) -> None:
    for name in names:
        try:
            find(name)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None


def check_choice(key: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{key}: expected {_one_of_phrase(allowed)}, got {value!r}")


def _one_of_phrase(words: Iterable[str]) -> str:
    return "one of " + ", ".join(word or '""' for word in words)


_NOTHING: Mapping[str, Any] = {}
_BARE = lazy_pattern(r"[\w-]+", re.ASCII)
"""A key that TOML takes without quotes."""


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
    """One table, and where it stands; what reads a key raises :class:`PlaceError` if it cannot."""

    place: tuple[str, ...]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, value: object, *place: str) -> Table:
        """The table that stands at a place."""
        if not isinstance(value, Mapping):
            raise PlaceError(place, f"expected a table, got {value!r}")
        if names := [key for key in value if not isinstance(key, str)]:
            raise PlaceError(place, f"expected texts as keys, got {names[0]!r}")
        return cls(place, value)

    def error_at(self, what: str, *key: str) -> PlaceError:
        """The error about this table, or about one of its keys."""
        return PlaceError((*self.place, *key), what)

    def only(self, *known: str) -> Table:
        """The same table, if it has no other keys than these."""
        for key in self.values:
            if key not in known:
                raise self.error_at(unknown_name_message("key", key, known))
        return self

    def table(self, key: str) -> Table:
        return Table.of(self.values.get(key, {}), *self.place, key)

    def tables(self) -> tuple[tuple[str, Table], ...]:
        return tuple((key, self.table(key)) for key in self.values)

    def without(self, *keys: str) -> Table:
        rest = {key: value for key, value in self.values.items() if key not in keys}
        return Table(self.place, rest)

    def value(self, key: str, hint: Any, default: Any = None) -> Any:  # noqa: ANN401 - of the annotation
        """The value under a key, as :func:`read_setting` reads it."""
        if key not in self.values:
            return default
        try:
            return read_setting(hint, self.values[key])
        except PlaceError as error:
            raise self.error_at(error.what, key, *error.place) from None
        except ConfigError as error:
            raise self.error_at(str(error), key) from None

    def text(self, key: str, default: str = "") -> str:
        return cast("str", self.value(key, str, default))

    def names(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        return cast("tuple[str, ...]", self.value(key, tuple[str, ...], default))

    def build(self, kind: type[_Thing], fixed: Mapping[str, Any] = _NOTHING, **read: Any) -> _Thing:  # noqa: ANN401
        """An instance of a dataclass, whose fields are the keys, read by their annotations."""
        keys = {each.name: each for each in fields(cast("Any", kind)) if each.init and each.name not in fixed}
        self.only(*keys)
        hints = _hints(cast("Any", kind))
        values = {key: self.value(key, hints[key]) for key in self.values if key not in read} | read
        for key, each in keys.items():
            if key not in values and each.default is each.default_factory is MISSING:
                raise self.error_at("is missing", key)
        return kind(**fixed, **values)

    def json(self) -> JsonText:
        for key, value in self.values.items():
            try:
                canonical(value)
            except (TypeError, ValueError):
                raise self.error_at(f"expected what JSON can hold, got {value!r}", key) from None
        return canonical(self.values)

    def check_values(self, check: Callable[[Mapping[str, Any]], object]) -> Table:
        """The same table, if a check finds nothing; what is wrong with a value is said at its place.

        :param check: raises :class:`ConfigError`, whose text begins with the key where it is about one
        """
        try:
            check(self.values)
        except ConfigError as error:
            key, _, what = str(error).partition(": ")
            about = self.error_at(what, key) if key in self.values else self.error_at(str(error))
            raise about from None
        return self
