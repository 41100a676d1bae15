"""Read scenario files: one scenario in TOML, one a line in JSON lines, or any number in Python."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

from toolreel._internal.errors import EvalPlanError
from toolreel._internal.toml_files import read_file, read_toml
from toolreel.evals._scenario_files.real_tools import with_real_tools
from toolreel_core._internal.config_checks import PlaceError
from toolreel_core._jsontext.canonical import NOTHING, canonical
from toolreel_core._jsontext.digest import digest
from toolreel_core.evals._own_scenarios.own_scenario import OwnScenario, own_scenario
from toolreel_core.evals._scenarios.scenario import Scenario

SUFFIXES: Final = (".toml", ".jsonl", ".py")
_MISSING: Final = "there is no such scenario file; correct its name, or write one: toolreel eval scenario new"


def read_scenarios(path: Path | str) -> tuple[Scenario, ...]:
    """The scenarios in a file.

    :raises EvalPlanError: if it cannot be read or is not valid; names the file, the line and the remedy
    """
    path = Path(path)
    match path.suffix:
        case ".toml":
            return (read_toml_scenario(path).scenario(),)
        case ".jsonl":
            return tuple(each.scenario() for each in _of_lines(path))
        case ".py":
            return _of_python(path)
        case _:
            there = [file.name for suffix in SUFFIXES if (file := Path(f"{path}{suffix}")).is_file()]
            remedy = f"did you mean {there[0]}?" if there else "correct its name"
            raise EvalPlanError(f"{path}: a scenario file ends in {', '.join(SUFFIXES)}; {remedy}")


def read_toml_scenario(path: Path) -> OwnScenario:
    """The scenario in a TOML file.

    :raises EvalPlanError: if it cannot be read or is not valid
    """
    text = read_file(path, EvalPlanError, _MISSING)
    return read_toml(
        str(path), text, lambda tree: _built(with_real_tools(tree, path.parent), path, text), EvalPlanError
    )


def _built(tree: dict[str, Any], path: Path, text: str) -> OwnScenario:
    try:
        return own_scenario(tree)
    except PlaceError as error:
        if line := _line_of_item(text, error.place):
            raise EvalPlanError(f"{path}, line {line}: {error}") from None
        raise


_HEAD: Final = re.compile(r"\s*\[\[\s*(\w+)\s*\]\]")
"""The head of an array of tables, which is one scenario."""
_TITLE: Final = re.compile(r"\s*\[[\w\[]")
"""The head of any table."""
_NAME: Final = re.compile(r"""\s*name\s*=\s*["']([^"']*)["']""")
"""The line with the name of a scenario."""


def _line_of_item(text: str, place: tuple[str, ...]) -> int:
    """The line of a ``[[tool]]`` or ``[[check]]``, of a key in it if there is one; 0 for other places."""
    if len(place) < 2:
        return 0
    kind, label, *keys = place
    for number, (first, rows) in enumerate(_items(text, kind), 1):
        if label in {str(number), *(found[1] for row in rows if (found := _NAME.match(row)))}:
            wanted = re.compile(rf"\s*{re.escape(keys[0])}\s*=") if keys else _HEAD
            return next((first + place for place, row in enumerate(rows) if wanted.match(row)), first)
    return 0


def _items(text: str, kind: str) -> list[tuple[int, list[str]]]:
    """The tables of an array: the line of each, and all of its lines."""
    items, inside = list[tuple[int, list[str]]](), False
    for number, row in enumerate(text.splitlines(), 1):
        if _TITLE.match(row):
            head = _HEAD.match(row)
            inside = head is not None and head[1] == kind
            if inside:
                items.append((number, []))
        if inside:
            items[-1][1].append(row)
    return items


def _of_lines(path: Path) -> tuple[OwnScenario, ...]:
    lines = read_file(path, EvalPlanError, _MISSING).splitlines()
    found = [_of_line(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise EvalPlanError(f"{path}: holds no scenario; write one a line, as a JSON object")
    return tuple(found)


def _of_line(line: str, place: str) -> OwnScenario:
    try:
        tree = json.loads(line)
    except ValueError as error:
        raise EvalPlanError(f"{place}: not JSON: {error}") from None
    try:
        return own_scenario(tree)
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
