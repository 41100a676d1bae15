"""Scenario files: a scenario in TOML, one a line in JSON lines, or any number in Python; and stored ones."""

from __future__ import annotations

import glob
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Final

from toolreel._internal import EvalPlanError, ResultsError, read_file, read_toml
from toolreel.evals._catalogue import built_in, is_built_in, select_scenarios
from toolreel.evals._runner.real_tools import with_real_tools
from toolreel_core._config_checks import PlaceError
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Json, Tree, as_tree, canonical, digest
from toolreel_core._plan import Preset
from toolreel_core._settings import LoopConfig
from toolreel_core.evals import (
    PACK,
    Case,
    Scenario,
    check_scenario_name,
    scenario_of,
)


def scenario(
    name: str, *, about: str = "", version: int = 1, tool_use_mode: str = "relaxed"
) -> Callable[[Callable[[str], Case]], Scenario]:
    """Make a scenario of the function below: from a trial's seed to its case.

    ::

        @scenario("take_note", about="One note.")
        def take_note(seed: str) -> Case: ...

    :param name: small letters, digits and _
    :param version: to be increased whenever texts, tools or world change; in a file that a plan names, the
        text of the file counts instead
    :param tool_use_mode: ``relaxed``: the model may answer without a call; ``enforced``: it must make one
    :raises ConfigError: if the name or the mode is none
    """
    check_scenario_name(name)
    LoopConfig.of({"tool_use_mode": tool_use_mode})
    if version < 1:
        raise ConfigError(f"version: expected a whole number of at least 1, got {version!r}")
    changes = Preset(config=canonical({"tool_use_mode": tool_use_mode}))

    def made(begin: Callable[[str], Case]) -> Scenario:
        return Scenario(name, PACK, about, version, begin, changes)

    return made


def stored_scenarios(plan: Tree) -> tuple[Scenario, ...]:
    """The scenarios in the plan of stored results: built-in ones, and those that were read from files.

    :raises ResultsError: if a Python file is missing, or is not the one that the results were made with
    """
    own, names = as_tree(plan.get("own_scenarios")), as_tree(plan.get("scenarios"))
    return (
        *(built_in(name) for name in names if name not in own and is_built_in(name)),
        *(scenario_of_tree(name, tree) for name, tree in own.items()),
    )


def scenario_of_tree(name: str, tree: Json) -> Scenario:
    """One such scenario.

    :raises ResultsError: as :func:`stored_scenarios`
    """
    if isinstance(tree, Mapping) and isinstance(file := tree.get("python_file"), str):
        return _of_file(name, Path(file), tree)
    try:
        return scenario_of(tree)
    except ConfigError as error:
        raise ResultsError(f"the scenario {name!r} of these results cannot be read: {error}") from None


def _of_file(name: str, path: Path, tree: Tree) -> Scenario:
    try:
        same = digest(path.read_text(encoding="utf-8")) == tree.get("sha256")
    except (OSError, UnicodeDecodeError):
        same = False
    if not same:
        raise ResultsError(
            f"the scenario {name!r} is in {path}, which is missing or has changed since these results were"
            " made; restore the file, or run the evaluation again"
        )
    return next(each for each in read_scenarios(path) if each.name == name)


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
    own = [each for word in files for path in paths_of(word) for each in read_scenarios(path)]
    names = [each.name for each in own]
    for name in names:
        if is_built_in(name):
            raise ConfigError(f"scenarios: {name!r} is a built-in scenario; choose another name for yours")
        if names.count(name) > 1:
            raise ConfigError(f"scenarios: there are two scenarios {name!r}; rename one")
    unwanted = {word[1:].strip().lower() for word in others if word.startswith("!")}
    of_catalogue = [word for word in others if word.lstrip("!").lower() not in names]
    wanted = any(not word.startswith("!") for word in of_catalogue)
    chosen = (
        *(select_scenarios(of_catalogue) if wanted else ()),
        *(each for each in own if each.name not in unwanted),
    )
    if not chosen:
        raise ConfigError(
            f"scenarios: {', '.join(given)} leaves none; name at least one that is not excluded"
        )
    return chosen


def paths_of(word: str) -> list[Path]:
    """The files that a path or a pattern means.

    :raises ConfigError: if no file fits the pattern
    """
    if not glob.has_magic(word):
        return [Path(word)]
    found = sorted(glob.glob(word, recursive=True))
    if not found:
        raise ConfigError(f"scenarios: no file fits {word!r}")
    return [Path(each) for each in found]


SUFFIXES: Final = (".toml", ".jsonl", ".py")
_MISSING: Final = "there is no such scenario file; correct its name, or write one: toolreel eval scenario new"


def read_scenarios(path: Path | str) -> tuple[Scenario, ...]:
    """The scenarios in a file.

    :raises EvalPlanError: if it cannot be read or is not valid; names the file, the line and the remedy
    """
    path = Path(path)
    match path.suffix:
        case ".toml":
            return (read_toml_scenario(path),)
        case ".jsonl":
            return _of_lines(path)
        case ".py":
            return _of_python(path)
        case _:
            there = [file.name for suffix in SUFFIXES if (file := Path(f"{path}{suffix}")).is_file()]
            remedy = f"did you mean {there[0]}?" if there else "correct its name"
            raise EvalPlanError(f"{path}: a scenario file ends in {', '.join(SUFFIXES)}; {remedy}")


def read_toml_scenario(path: Path) -> Scenario:
    """The scenario in a TOML file.

    :raises EvalPlanError: if it cannot be read or is not valid
    """
    text = read_file(path, EvalPlanError, _MISSING)
    return read_toml(
        str(path), text, lambda tree: scenario_of(with_real_tools(tree, path.parent)), EvalPlanError
    )


def _of_lines(path: Path) -> tuple[Scenario, ...]:
    lines = read_file(path, EvalPlanError, _MISSING).splitlines()
    found = [_of_line(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise EvalPlanError(f"{path}: holds no scenario; write one a line, as a JSON object")
    return tuple(found)


def _of_line(line: str, place: str) -> Scenario:
    try:
        tree = json.loads(line)
    except ValueError as error:
        raise EvalPlanError(f"{place}: not JSON: {error}") from None
    try:
        return scenario_of(tree)
    except PlaceError as error:
        raise EvalPlanError(f"{place}: {error}") from None


def _of_python(path: Path) -> tuple[Scenario, ...]:
    """The scenarios that a Python file defines, in their order; its text is part of their version."""
    text = read_file(path, EvalPlanError, _MISSING)
    name = f"_toolreel_scenarios_{digest(str(path.resolve()))[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise EvalPlanError(f"{path}: cannot be imported; rename it")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise EvalPlanError(f"{path}: {type(error).__name__}: {error}") from error
    found = {id(value): value for value in vars(module).values() if isinstance(value, Scenario)}
    if not found:
        raise EvalPlanError(f"{path}: defines no scenario; write one with toolreel.evals.scenario")
    return tuple(_of_text(each, path, text) for each in found.values())


def _of_text(each: Scenario, path: Path, text: str) -> Scenario:
    """A scenario of a Python file; one that is data is stored as such."""
    if each.tree != NOTHING:
        return each
    sha256 = digest(text)
    tree = canonical({"name": each.name, "python_file": str(path), "sha256": sha256})
    return replace(each, version=int(sha256[:12], 16), tree=tree)
