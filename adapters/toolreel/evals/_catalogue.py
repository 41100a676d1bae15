"""The built-in scenarios: files in the package, in the format that users write, and groups of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical, chain
from toolreel_core.evals import Scenario, scenario_of, select

_FOLDER: Final = files("toolreel.evals") / "scenarios"
_STUDY: Final = "case-study"
"""The pack that is versioned apart, and in no other group."""


@cache
def _read_catalogue() -> Mapping[str, Any]:
    """``catalogue.toml``: packs with their scenarios in order, groups, and versions."""
    return tomllib.loads((_FOLDER / "catalogue.toml").read_text("utf-8"))


@cache
def _packs() -> Mapping[str, str]:
    """The pack of each scenario, in the order of the catalogue."""
    return {name: pack for pack, names in _read_catalogue()["pack"].items() for name in names}


@cache
def groups() -> Mapping[str, tuple[str, ...]]:
    """Words that stand for several scenarios, and their names in catalogue order."""
    packs = {pack: tuple(names) for pack, names in _read_catalogue()["pack"].items()}
    everything = tuple(name for pack, names in packs.items() if pack != _STUDY for name in names)
    production = tuple(name for pack in _read_catalogue()["production"] for name in packs[pack])
    return {
        **{group: tuple(names) for group, names in _read_catalogue()["group"].items()},
        **dict.fromkeys(("all", "full", "*"), packs["reference"]),
        **packs,
        "production": production,
        "packs": tuple(name for name in everything if _packs()[name] not in {"reference", "capped"}),
        "everything": everything,
    }


@cache
def built_in(name: str) -> Scenario:
    """The built-in scenario of that name.

    :raises ConfigError: if there is none; the text names the nearest
    """
    if name not in _packs():
        raise ConfigError(unknown_name("scenario", name, _packs()))
    pack = _packs()[name]
    text = (_FOLDER / pack / f"{name}.toml").read_text("utf-8")
    return scenario_of(tomllib.loads(text), pack=pack, version=_read_catalogue()["version"].get(name, 2))


def is_built_in(name: str) -> bool:
    """Whether a built-in scenario has this name."""
    return name in _packs()


def catalogue_digest() -> str:
    """The digest of all built-in scenarios, as their files say them."""
    texts = ((_FOLDER / pack / f"{name}.toml").read_text("utf-8") for name, pack in _packs().items())
    return chain("catalogue", canonical(_read_catalogue()), *texts)


def built_in_scenarios() -> tuple[Scenario, ...]:
    """All of them in the order of the catalogue, without those of the case study."""
    return tuple(built_in(name) for name in groups()["everything"])


def select_scenarios(words: Iterable[str], own: Sequence[Scenario] = ()) -> tuple[Scenario, ...]:
    """The scenarios that groups and names mean, in catalogue order; nothing means ``default``.

    >>> [one.name for one in select_scenarios(["simple", "!chat_only"])]
    ['happy_path']

    :param own: scenarios from files, which are meant too, unless a word takes them away
    :raises ConfigError: if a word means nothing, or nothing is left
    """
    given, of_own = [*filter(None, map(str.strip, words))], {each.name: each for each in own}
    if not own and all(word.startswith("!") for word in given):
        given.append("all" if given else "default")
    chosen = select(
        (*given, *of_own), "scenario or group", [*_packs(), *of_own], lambda name: (name, *_groups_of(name))
    )
    return tuple(of_own.get(name) or built_in(name) for name in chosen)


def _groups_of(name: str) -> Iterator[str]:
    return (group for group, names in groups().items() if name in names)
