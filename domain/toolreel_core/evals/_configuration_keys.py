"""The keys in which two configurations differ, each of which can be taken from the one or the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, TypeVar

from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import JsonText, Tree, as_tree, canonical, parse
from toolreel_core._plan import LISTS
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._text_calls import short_dialects
from toolreel_core.evals._plan.run_configuration import Configuration, object_of

Section: TypeAlias = Literal["config", "provider", "request", "request_overrides"]

_Settings = TypeVar("_Settings", LoopConfig, Provider)


@dataclass(frozen=True, slots=True)
class Key:
    """One difference: a setting, a name in a list of names, or a value in the request."""

    section: Section
    path: tuple[str, ...]
    before: JsonText | None
    """The value; ``None`` if nothing is sent. For a name in a list, whether it is in it."""
    after: JsonText | None
    name: str = ""
    """The name that is added or removed; empty: the value is replaced."""

    def __str__(self) -> str:
        """The place, such as ``config.max_turns``; with a name in a list, ``config.text_dialects+marked``."""
        place = ".".join((self.section, *self.path))
        return f"{place}{'+' if self.after == 'true' else '-'}{self.name}" if self.name else place

    @property
    def change(self) -> str:
        """The change in words, such as ``12 -> 8``; empty for a name in a list."""
        return "" if self.name else " -> ".join(text or "(not sent)" for text in (self.before, self.after))


def keys_between(before: Configuration, after: Configuration) -> tuple[Key, ...]:
    """All keys in which two configurations differ, section by section.

    >>> one, other = (Configuration(LoopConfig.of(tree)) for tree in ({"max_turns": 4}, {}))
    >>> [f"{key}: {key.change}" for key in keys_between(one, other)]
    ['config.max_turns: 4 -> 12']
    """
    return (
        *_of_settings("config", before.config, after.config),
        *_of_settings("provider", before.provider, after.provider),
        *_of_trees("request", (), object_of(before.options), object_of(after.options)),
        *_of_trees("request_overrides", (), object_of(before.overrides), object_of(after.overrides)),
    )


def with_keys(before: Configuration, after: Configuration, keys: Collection[Key]) -> Configuration:
    """The first configuration with the given keys as in the second.

    :raises ConfigError: if these settings contradict each other
    """
    return replace(
        before,
        config=_with_settings("config", before.config, after.config, keys),
        provider=_with_settings("provider", before.provider, after.provider, keys),
        options=_with_values("request", before.options, keys),
        overrides=_with_values("request_overrides", before.overrides, keys),
        # A limit of the cost is a key; the price that it needs comes with it.
        price=before.price or after.price,
    )


def keys_named(words: Iterable[str], keys: Iterable[Key]) -> tuple[Key, ...]:
    """The keys that have these names.

    :raises ConfigError: if there is no such key; names the nearest
    """
    known = {str(key): key for key in keys}
    chosen = {*words}
    for word in sorted(chosen - {*known}):
        raise ConfigError(unknown_name("difference", word, known))
    return tuple(key for name, key in known.items() if name in chosen)


def _of_settings(section: Section, before: _Settings, after: _Settings) -> Iterator[Key]:
    for setting in fields(before):
        old, new, path = getattr(before, setting.name), getattr(after, setting.name), (setting.name,)
        if old == new:
            continue
        is_list = section == "config" and setting.name in LISTS
        names = _joined(short_dialects(old), short_dialects(new)) if is_list else None
        if names is None:
            yield Key(section, path, canonical(old), canonical(new))
            continue
        for name in names:
            was, now = name in short_dialects(old), name in short_dialects(new)
            if was is not now:
                yield Key(section, path, canonical(was), canonical(now), name)


def _joined(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names of both lists in an order that both agree with; ``None`` if there is none."""
    if [name for name in old if name in new] != [name for name in new if name in old]:
        return None
    rest, both = list(new), list[str]()
    for name in old:
        if name in rest:
            both += rest[: rest.index(name)]
            del rest[: rest.index(name) + 1]
        both.append(name)
    return (*both, *rest)


def _with_settings(section: Section, before: _Settings, after: _Settings, keys: Collection[Key]) -> _Settings:
    chosen = [key for key in keys if key.section == section]
    changes: dict[str, object] = {key.path[0]: getattr(after, key.path[0]) for key in chosen if not key.name}
    for setting in {key.path[0] for key in chosen if key.name}:
        old, new = short_dialects(getattr(before, setting)), short_dialects(getattr(after, setting))
        turned = {key.name for key in chosen if key.path[0] == setting}
        # Lists that agree about the order of their names: others are replaced as a whole.
        changes[setting] = tuple(
            name for name in _joined(old, new) or () if (name in old) is not (name in turned)
        )
    return replace(before, **changes)  # type: ignore[arg-type]


def _of_trees(section: Section, path: tuple[str, ...], old: Tree, new: Tree) -> Iterator[Key]:
    for name in dict.fromkeys((*old, *new)):
        one, other = old.get(name), new.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _of_trees(section, (*path, name), one, other)
            continue
        was, now = (canonical(tree[name]) if name in tree else None for tree in (old, new))
        if was != now:
            yield Key(section, (*path, name), was, now)


def _with_values(section: Section, text: JsonText, keys: Iterable[Key]) -> JsonText:
    tree = object_of(text)
    for key in keys:
        if key.section == section:
            tree = _with_value(tree, key.path, key.after)
    return canonical(tree)


def _with_value(tree: Tree, path: tuple[str, ...], value: JsonText | None) -> Tree:
    name, *rest = path
    if rest:  # both configurations have an object there
        return {**tree, name: _with_value(as_tree(tree[name]), tuple(rest), value)}
    others = {key: other for key, other in tree.items() if key != name}
    return others if value is None else {**tree, name: parse(value)}
