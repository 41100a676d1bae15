"""Scenarios of stored results: whole, if they are data; by file and digest, if they are Python.

Code is never taken from results. A Python file is imported only if it is the very text that the results were
made with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from toolreel._internal.errors import ResultsError
from toolreel.evals._scenario_files.files import read_scenarios
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._jsontext.digest import digest
from toolreel_core.evals._own_scenarios.own_scenario import own_scenario
from toolreel_core.evals._scenarios.scenario import Scenario


def stored_scenarios(plan: Tree) -> tuple[Scenario, ...]:
    """The scenarios from files in the plan of stored results.

    :raises ResultsError: if a Python file is missing, or is not the one that the results were made with
    """
    own = plan.get("own_scenarios", {})
    return (
        tuple(scenario_of_tree(name, tree) for name, tree in own.items()) if isinstance(own, Mapping) else ()
    )


def scenario_of_tree(name: str, tree: Json) -> Scenario:
    """One such scenario.

    :raises ResultsError: as :func:`stored_scenarios`
    """
    if isinstance(tree, Mapping) and isinstance(file := tree.get("python_file"), str):
        return _of_file(name, Path(file), tree)
    try:
        return own_scenario(tree).scenario()
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
