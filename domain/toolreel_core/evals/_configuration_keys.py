"""The keys in which two configurations differ, each of which can be taken from the one or the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace

from toolreel_core._jsontext import Json, JsonText, Tree, as_tree, canonical, parse
from toolreel_core._plan import LISTS
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._text_calls import short_dialects
from toolreel_core.evals._plan.run_configuration import Configuration, object_of


@dataclass(frozen=True, slots=True)
class Key:
    """One difference: a setting, a name in a list of names, or a value in the request."""

    path: tuple[str, ...]
    """With its section first: ``config``, ``provider``, ``request`` or ``request_overrides``."""
    before: JsonText | None
    """The value; ``None`` if nothing is sent. For a name in a list, whether it is in it."""
    after: JsonText | None
    name: str = ""
    """The name that is added or removed; empty: the value is replaced."""

    def __str__(self) -> str:
        """The place, such as ``config.max_turns``; with a name in a list, ``config.text_dialects+marked``."""
        place = ".".join(self.path)
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
    return tuple(_between((), _whole(before), _whole(after)))


def with_keys(before: Configuration, after: Configuration, keys: Collection[Key]) -> Configuration:
    """The first configuration with the given keys as in the second.

    :raises ConfigError: if these settings contradict each other
    """
    tree, other = _whole(before), _whole(after)
    for path in {key.path for key in keys if key.name}:
        old, new = (_names(as_tree(each["config"])[path[-1]]) for each in (tree, other))
        turned = {key.name for key in keys if key.path == path}
        left = [name for name in _joined(path, old, new) or () if (name in old) is not (name in turned)]
        tree = _with_value(tree, path, canonical(left))
    for key in keys:
        if not key.name:
            tree = _with_value(tree, key.path, key.after)
    return replace(
        before,
        config=LoopConfig.of(as_tree(tree["config"])),
        provider=Provider.of(as_tree(tree["provider"])),
        options=canonical(tree["request"]),
        overrides=canonical(tree["request_overrides"]),
        # A limit of the cost is a key; the price that it needs comes with it.
        price=before.price or after.price,
    )


def _whole(made: Configuration) -> Tree:
    """All settings of a configuration, those at their defaults too."""
    config, provider = (
        {each.name: getattr(settings, each.name) for each in fields(settings)}
        for settings in (made.config, made.provider)
    )
    names = {key: short_dialects(config[key]) for key in LISTS}
    return {
        "config": {**config, **names},
        "provider": provider,
        "request": object_of(made.options),
        "request_overrides": object_of(made.overrides),
    }


def _between(path: tuple[str, ...], old: Tree, new: Tree) -> Iterator[Key]:
    for key in dict.fromkeys((*old, *new)):
        one, other, place = old.get(key), new.get(key), (*path, key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _between(place, one, other)
        elif (names := _joined(place, one, other)) is not None:
            for name in names:
                was, now = (canonical(name in _names(each)) for each in (one, other))
                if was != now:
                    yield Key(place, was, now, name)
        else:
            before, after = (canonical(tree[key]) if key in tree else None for tree in (old, new))
            if before != after:
                yield Key(place, before, after)


def _joined(path: tuple[str, ...], old: Json, new: Json) -> tuple[str, ...] | None:
    """The names of both lists in an order that both agree with; ``None`` if there is none, or no list."""
    if path[:-1] != ("config",) or path[-1] not in LISTS:
        return None
    first, second = _names(old), [*_names(new)]
    if [name for name in first if name in second] != [name for name in second if name in first]:
        return None
    both = list[str]()
    for name in first:
        if name in second:
            both += second[: second.index(name)]
            del second[: second.index(name) + 1]
        both.append(name)
    return (*both, *second)


def _names(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _with_value(tree: Tree, path: tuple[str, ...], value: JsonText | None) -> Tree:
    name, *rest = path
    if rest:  # both configurations have an object there
        return {**tree, name: _with_value(as_tree(tree[name]), tuple(rest), value)}
    others = {key: other for key, other in tree.items() if key != name}
    return others if value is None else {**tree, name: parse(value)}
