"""Where scenarios come from: the catalogue, files, stored results; and the real tools that they name."""

from __future__ import annotations

import glob
import json
import os
import tomllib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from runpy import run_path
from typing import Any
from uuid import uuid4

from toolreel._driver import ToolHost
from toolreel._internal import EvalPlanError, ResultsError, read_text_file, read_toml
from toolreel.tools import Crash, PythonTools, exception_event, load_tools
from toolreel_core._config_checks import PlaceError, Table, unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    chained_digest,
    digest,
    parse,
    tree_at,
)
from toolreel_core._plan import Preset
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import (
    PACK,
    Case,
    Scenario,
    check_scenario_name,
    scenario_of,
    select_by_filter,
)


@dataclass(frozen=True, slots=True)
class _Host:
    """Passes each call of one attempt to the host that has its tool, with a key that no other attempt has.

    The loop computes idempotency keys from the plan, which is the same at two endpoints, and when a run is
    made again. A tool that remembers keys would act for the first of them alone.
    """

    hosts: Mapping[str, tuple[str, ToolHost]]
    attempt: str = field(default_factory=lambda: uuid4().hex)

    def run(self, effect: RunTool) -> ToolReturned:
        inner, host = self.hosts[effect.name]
        key = chained_digest("attempt", self.attempt, effect.key)
        try:
            return host.run(replace(effect, name=inner, key=key))
        except SystemExit as error:  # of a tool, which may not end the evaluation
            return exception_event(effect, Crash(f"it raised {error!r}"))


@contextmanager
def open_real_tool_host(tree: JsonText) -> Generator[ToolHost]:
    with ExitStack() as stack:
        surfaces = _open_tool_hosts(tree_at(as_tree(parse(tree)), "real"), stack)
        yield _Host(
            {one.outward: (one.name, host) for surface, host in surfaces for one in surface.definitions}
        )


def with_real_tools(tree: dict[str, Any], folder: Path) -> dict[str, Any]:
    if "real" not in tree:
        return tree
    table = Table.of(tree["real"], "real").only("python", "mcp", "effects")
    # A file of tools is next to the scenario's; a module is wherever Python finds it.
    python: list[Json] = [
        str(folder / one) if one.partition(":")[0].endswith(".py") else one for one in table.names("python")
    ]
    real: dict[str, Json] = {"python": python} if python else {}
    if "mcp" in table.values:
        real["mcp"] = str(folder / table.text("mcp"))
    if not real:
        raise table.error_at('write python = ["tools.py:function"], or mcp = "mcp.json"')
    with ExitStack() as stack:
        hosts = _open_tool_hosts(real, stack)
    found = [one for surface, _ in hosts for one in surface.definitions if one.exposed]
    names = [one.outward for one in found]
    effects = table.names("effects")
    real["effects"] = [*effects]
    for name in effects:
        if name not in names:
            raise table.error_at(unknown_name_message("real tool", name, names), "effects")
    tables: list[Json] = [
        {
            "name": one.outward,
            "description": one.description,
            "real": True,
            "parameters": parse(one.parameters),
            "effect": one.outward in effects,
        }
        for one in found
    ]
    return {**tree, "real": real, "tool": [*tree.get("tool", []), *tables]}


def _open_tool_hosts(real: Mapping[str, Json], stack: ExitStack) -> Sequence[tuple[ToolSurface, ToolHost]]:
    hosts = list[tuple[ToolSurface, ToolHost]]()
    python, mcp = real.get("python"), real.get("mcp")
    if isinstance(python, list | tuple):
        tools = PythonTools(load_tools(map(str, python)))
        hosts.append((tools.surface, tools))
    if isinstance(mcp, str):
        from toolreel.tools.mcp import McpTools, read_mcp_servers

        servers = stack.enter_context(McpTools(read_mcp_servers(Path(mcp), os.environ)))
        hosts.append((servers.surface, servers))
    return hosts


_FOLDER = files("toolreel.evals") / "scenarios"
_STUDY = "case-study"
"""The pack that is versioned apart, and in no other group."""


@cache
def _read_catalogue() -> Mapping[str, Any]:
    return tomllib.loads((_FOLDER / "catalogue.toml").read_text("utf-8"))


@cache
def _pack_by_scenario() -> Mapping[str, str]:
    return {name: pack for pack, names in _read_catalogue()["pack"].items() for name in names}


@cache
def scenario_groups() -> Mapping[str, tuple[str, ...]]:
    """Words that stand for several scenarios, and their names in catalogue order."""
    packs = {pack: tuple(names) for pack, names in _read_catalogue()["pack"].items()}
    everything = tuple(name for pack, names in packs.items() if pack != _STUDY for name in names)
    production = tuple(name for pack in _read_catalogue()["production"] for name in packs[pack])
    return {
        **{group: tuple(names) for group, names in _read_catalogue()["group"].items()},
        # As in the reference harness, which has these eight; all of ours are `everything`.
        **dict.fromkeys(("all", "full", "*"), packs["reference"]),
        **packs,
        "production": production,
        "packs": tuple(
            name for name in everything if _pack_by_scenario()[name] not in {"reference", "capped"}
        ),
        "everything": everything,
    }


@cache
def built_in_scenario(name: str) -> Scenario:
    """The built-in scenario of that name.

    :raises ConfigError: if there is none; the text names the nearest
    """
    if name not in _pack_by_scenario():
        raise ConfigError(unknown_name_message("scenario", name, _pack_by_scenario()))
    pack = _pack_by_scenario()[name]
    text = (_FOLDER / pack / f"{name}.toml").read_text("utf-8")
    return scenario_of(tomllib.loads(text), pack=pack, version=_read_catalogue()["version"].get(name, 2))


def catalogue_digest() -> str:
    texts = (
        (_FOLDER / pack / f"{name}.toml").read_text("utf-8") for name, pack in _pack_by_scenario().items()
    )
    return chained_digest("catalogue", canonical(_read_catalogue()), *texts)


def built_in_scenarios() -> tuple[Scenario, ...]:
    """All of them in the order of the catalogue, without those of the case study."""
    return tuple(built_in_scenario(name) for name in scenario_groups()["everything"])


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
    chosen = select_by_filter(
        (*given, *of_own),
        "scenario or group",
        [*_pack_by_scenario(), *of_own],
        lambda name: (name, *(group for group, names in scenario_groups().items() if name in names)),
    )
    return tuple(of_own.get(name) or built_in_scenario(name) for name in chosen)


def scenario(
    name: str, *, about: str = "", tool_use_mode: str = "relaxed"
) -> Callable[[Callable[[str], Case]], Scenario]:
    """Make a scenario of the function below: from a trial's seed to its case.

    ::

        @scenario("take_note", about="One note.")
        def take_note(seed: str) -> Case: ...

    In a file that a plan names, the text of the file is its version.

    :param name: small letters, digits and _
    :param tool_use_mode: ``relaxed``: the model may answer without a call; ``enforced``: it must make one
    :raises ConfigError: if the name or the mode is none
    """
    check_scenario_name(name)
    LoopConfig.of({"tool_use_mode": tool_use_mode})
    changes = Preset(config=canonical({"tool_use_mode": tool_use_mode}))
    return lambda begin: Scenario(name, PACK, about, 1, begin, changes)


def stored_scenarios(plan: Tree) -> tuple[Scenario, ...]:
    own, names = as_tree(plan.get("own_scenarios")), as_tree(plan.get("scenarios"))
    found = [built_in_scenario(name) for name in names if name not in own and name in _pack_by_scenario()]
    for name, tree in own.items():
        file = as_tree(tree).get("python_file")
        if not isinstance(file, str):
            try:
                found.append(scenario_of(tree))
            except ConfigError as error:
                raise ResultsError(
                    f"the scenario {name!r} of these results cannot be read: {error}"
                ) from None
            continue
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
    return tuple(found)


def names_a_file(word: str) -> bool:
    return word.endswith(SCENARIO_SUFFIXES) or "/" in word


def resolve_scenario_paths(folder: Path, words: Sequence[str]) -> list[str]:
    return [str(folder / word) if names_a_file(word) and not word.startswith("!") else word for word in words]


def select_with_scenario_files(words: Iterable[str]) -> tuple[Scenario, ...]:
    """The scenarios that groups, names and files mean: those of the catalogue first, then file by file."""
    files, others = list[str](), list[str]()
    for word in filter(None, map(str.strip, words)):
        (files if names_a_file(word) else others).append(word)
    own = [each for word in files for path in expand_path_pattern(word) for each in read_scenarios(path)]
    names = [each.name for each in own]
    for name in names:
        if name in _pack_by_scenario():
            raise ConfigError(f"{name!r} is a built-in scenario; choose another name for yours")
        if names.count(name) > 1:
            raise ConfigError(f"there are two scenarios {name!r}; rename one")
    return select_scenarios(others, own)


def expand_path_pattern(word: str) -> list[Path]:
    found = sorted(glob.glob(word, recursive=True)) if glob.has_magic(word) else [word]
    if not found:
        raise ConfigError(f"no file fits {word!r}")
    return [*map(Path, found)]


SCENARIO_SUFFIXES = (".toml", ".jsonl", ".py")
_MISSING = "there is no such scenario file; correct its name, or write one: toolreel eval scenario new"


def read_scenarios(path: Path | str) -> tuple[Scenario, ...]:
    """The scenarios in a file.

    :raises EvalPlanError: if it cannot be read or is not valid; names the file, the place and the remedy
    """
    path = Path(path)
    if path.suffix not in SCENARIO_SUFFIXES:
        raise EvalPlanError(
            f"{path}: a scenario file ends in {', '.join(SCENARIO_SUFFIXES)}; correct its name"
        )
    text = read_text_file(path, EvalPlanError, _MISSING)
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
    try:
        values = run_path(str(path), run_name="toolreel_scenarios").values()
    except (Exception, SystemExit) as error:
        raise EvalPlanError(f"{path}: {type(error).__name__}: {error}") from error
    # By identity: a scenario that has two names in the file is one.
    found = {id(value): value for value in values if isinstance(value, Scenario)}
    if not found:
        raise EvalPlanError(f"{path}: defines no scenario; write one with toolreel.evals.scenario")
    sha256 = digest(text)
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
