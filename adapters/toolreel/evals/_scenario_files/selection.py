"""The scenarios that a plan names: groups and names of the catalogue, and files."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from toolreel.evals._scenario_files.files import SUFFIXES, read_scenarios
from toolreel_core._errors import ConfigError
from toolreel_core.evals._scenarios.catalogue import SCENARIOS, select_scenarios
from toolreel_core.evals._scenarios.scenario import Scenario

_BUILT_IN: Final = frozenset(each.name for each in SCENARIOS)


def names_a_file(word: str) -> bool:
    """Whether a word of a plan is a file, or a pattern of files.

    >>> names_a_file("my/refund.toml"), names_a_file("default")
    (True, False)
    """
    return word.endswith(SUFFIXES) or "/" in word


def beside(folder: Path, words: Sequence[str]) -> list[str]:
    """The words of a plan file, whose files stand relative to its folder."""
    return [str(folder / word) if names_a_file(word) and not word.startswith("!") else word for word in words]


def select_all(words: Iterable[str]) -> tuple[Scenario, ...]:
    """The scenarios that groups, names and files mean: those of the catalogue first, then file by file.

    :raises ConfigError: if a word means nothing, a file cannot be read, or two scenarios have one name
    """
    given = [word.strip() for word in words if word.strip()]
    files = [word for word in given if names_a_file(word)]
    others = [word for word in given if not names_a_file(word)]
    if not files:
        return select_scenarios(others)
    unwanted = {word[1:].strip().lower() for word in others if word.startswith("!")}
    own = [each for word in files for path in _paths(word) for each in read_scenarios(path)]
    wanted = any(not word.startswith("!") for word in others)
    built_in = (
        select_scenarios(word for word in others if word.lstrip("!").lower() not in _own_names(own))
        if wanted
        else ()
    )
    chosen = (*built_in, *(each for each in own if each.name not in unwanted))
    _check_names(own)
    if not chosen:
        raise ConfigError(
            f"scenarios: {', '.join(given)} leaves none; name at least one that is not excluded"
        )
    return chosen


def _own_names(own: Iterable[Scenario]) -> frozenset[str]:
    return frozenset(each.name for each in own)


def _paths(word: str) -> list[Path]:
    if not glob.has_magic(word):
        return [Path(word)]
    found = sorted(glob.glob(word, recursive=True))
    if not found:
        raise ConfigError(f"scenarios: no file fits {word!r}")
    return [Path(each) for each in found]


def _check_names(own: Sequence[Scenario]) -> None:
    seen = set[str]()
    for each in own:
        if each.name in _BUILT_IN:
            raise ConfigError(
                f"scenarios: {each.name!r} is a built-in scenario; choose another name for yours"
            )
        if each.name in seen:
            raise ConfigError(f"scenarios: there are two scenarios {each.name!r}; rename one")
        seen.add(each.name)
