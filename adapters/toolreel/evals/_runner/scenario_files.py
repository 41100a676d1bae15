"""Scenario files: a scenario in TOML, one a line in JSON lines, or any number in Python; and stored ones."""

from __future__ import annotations

import glob
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

from toolreel._internal import EvalPlanError, ResultsError, read_file, read_toml
from toolreel.evals._catalogue import built_in, is_built_in, select_scenarios
from toolreel.evals._runner.real_tools import with_real_tools
from toolreel_core._config_checks import PlaceError
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Tree, as_tree, canonical, digest
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
    found = [built_in(name) for name in names if name not in own and is_built_in(name)]
    for name, tree in own.items():
        if isinstance(file := as_tree(tree).get("python_file"), str):
            try:
                same = digest(Path(file).read_text(encoding="utf-8")) == as_tree(tree).get("sha256")
            except (OSError, UnicodeDecodeError):
                same = False
            if not same:
                raise ResultsError(
                    f"the scenario {name!r} is in {file}, which is missing or has changed since these results"
                    " were made; restore the file, or run the evaluation again"
                )
            found += (each for each in read_scenarios(file) if each.name == name)
            continue
        try:
            found.append(scenario_of(tree))
        except ConfigError as error:
            raise ResultsError(f"the scenario {name!r} of these results cannot be read: {error}") from None
    return tuple(found)


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
    files, others = list[str](), list[str]()
    for word in filter(None, map(str.strip, words)):
        (files if names_a_file(word) else others).append(word)
    own = [each for word in files for path in paths_of(word) for each in read_scenarios(path)]
    names = [each.name for each in own]
    for name in names:
        if is_built_in(name):
            raise ConfigError(f"scenarios: {name!r} is a built-in scenario; choose another name for yours")
        if names.count(name) > 1:
            raise ConfigError(f"scenarios: there are two scenarios {name!r}; rename one")
    return select_scenarios(others, own)


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

    :raises EvalPlanError: if it cannot be read or is not valid; names the file, the place and the remedy
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        there = [file.name for suffix in SUFFIXES if (file := Path(f"{path}{suffix}")).is_file()]
        remedy = f"did you mean {there[0]}?" if there else "correct its name"
        raise EvalPlanError(f"{path}: a scenario file ends in {', '.join(SUFFIXES)}; {remedy}")
    text = read_file(path, EvalPlanError, _MISSING)
    if path.suffix == ".py":
        return _scenarios_of_python(path, text)
    if path.suffix == ".jsonl":
        return _scenarios_of_lines(path, text)

    def scenario_in(tree: dict[str, Any]) -> Scenario:
        return scenario_of(with_real_tools(tree, path.parent))

    return (read_toml(str(path), text, scenario_in, EvalPlanError),)


def _scenarios_of_lines(path: Path, text: str) -> tuple[Scenario, ...]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(scenario_of(json.loads(line)))
            except PlaceError as error:
                raise EvalPlanError(f"{path}, line {number}: {error}") from None
            except ValueError as error:
                raise EvalPlanError(f"{path}, line {number}: not JSON: {error}") from None
    if not found:
        raise EvalPlanError(f"{path}: holds no scenario; write one a line, as a JSON object")
    return tuple(found)


def _scenarios_of_python(path: Path, text: str) -> tuple[Scenario, ...]:
    """The scenarios that a Python file defines, in their order; its text is part of their version."""
    sha256, name = digest(text), f"_toolreel_scenarios_{digest(str(path.resolve()))[:12]}"
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
    return tuple(
        each
        if each.tree != NOTHING  # one that is data is stored as such
        else replace(
            each,
            version=int(sha256[:12], 16),
            tree=canonical({"name": each.name, "python_file": str(path), "sha256": sha256}),
        )
        for each in found.values()
    )
