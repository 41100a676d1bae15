"""What a preset really changes, key by key, and in what two presets differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from toolreel_core._jsontext.canonical import Json, JsonText, canonical
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._settings.config import LoopConfig
from toolreel_core._settings.provider import Provider

_DEFAULTS: Final[Mapping[str, JsonText]] = {
    f"{section}.{setting.name}": canonical(getattr(defaults, setting.name))
    for section, defaults in (("config", LoopConfig()), ("provider", Provider()))
    for setting in fields(defaults)
}


@dataclass(frozen=True, slots=True)
class Change:
    """One key, with the values that it has before and after."""

    key: str
    """With its section, such as ``config.max_turns``; ``request.…`` are keys of the body."""
    before: JsonText | None
    """The value; ``None`` where nothing is sent."""
    after: JsonText | None
    because: str = ""
    """Why a preset sets it."""


def changes(preset: Preset) -> tuple[Change, ...]:
    """Every key that a preset declares, against the defaults; the two values may be equal.

    >>> [change] = changes(Preset.of("mine", {"config": {"max_turns": 4}}))
    >>> print(change.key, change.before, change.after)
    config.max_turns 12 4
    """
    return tuple(
        Change(key, _DEFAULTS.get(key), value, _because(preset, key)) for key, value in _leaves(preset)
    )


def differences(one: Preset, other: Preset) -> tuple[Change, ...]:
    """The keys to which two presets give different values, from one to the other.

    >>> differences(Preset(), Preset.of("mine", {"config": {"max_turns": 12}}))
    ()
    """
    before, after = dict(_leaves(one)), dict(_leaves(other))
    keys = [key for key in {**before, **after} if _at(before, key) != _at(after, key)]
    return tuple(
        Change(key, _at(before, key), _at(after, key), _because(other if key in after else one, key))
        for key in keys
    )


def _at(leaves: Mapping[str, JsonText], key: str) -> JsonText | None:
    return leaves.get(key, _DEFAULTS.get(key))


def _because(preset: Preset, key: str) -> str:
    """Reasons are given for keys as they are declared, without section and without what lies below."""
    declared = key.split(".")[1]
    return dict(preset.because).get(declared, "")


def _leaves(preset: Preset) -> Iterator[tuple[str, JsonText]]:
    for section, values in preset.changes().items():
        yield from _below(section, values)


def _below(key: str, value: Json) -> Iterator[tuple[str, JsonText]]:
    if not isinstance(value, Mapping) or (not value and "." in key):
        yield key, canonical(value)
        return
    for name, inner in value.items():
        yield from _below(f"{key}.{name}", inner)
