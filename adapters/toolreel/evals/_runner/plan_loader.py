"""Plans from environment, TOML file and command line, or from stored results.

Later sources override earlier ones. Errors name their source: the variable, the file and line, or the option.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from toolreel._internal import EvalPlanError, ResultsError, read_file, read_toml
from toolreel.evals._results import Header
from toolreel.evals._runner.scenario_files import paths_beside, select_all, stored_scenarios
from toolreel.presets import with_files
from toolreel_core._config_checks import PlaceError
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Tree, parse, tree_at
from toolreel_core._plan import Presets
from toolreel_core.evals import (
    SETTINGS,
    EvalPlan,
    Options,
    Shard,
    check_cost_cap,
    comma_separated,
    environment_options,
    gates_of,
    merge_layers,
)

_Place = tuple[str, ...]
_Built = TypeVar("_Built")

_NOTHING_GIVEN: Final[Tree] = {}
_NO_FLAGS: Final[Mapping[_Place, str]] = {}


_Layer: TypeAlias = tuple[Tree, Callable[[_Place], str]]
"""The options of one source, and names for places in it."""


def load_eval_plan(
    path: Path | str | None = None,
    given: Tree = _NOTHING_GIVEN,
    *,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[_Place, str] = _NO_FLAGS,
) -> EvalPlan:
    """The plan made of the environment, a plan file, and further options; the later override the earlier.

    :param path: the plan file, in TOML; ``None`` for none
    :param given: further options in the structure of a plan file, such as ``{"eval": {"trials": 5}}``
    :param environ: the environment variables of the reference harness, such as ``OPENROUTER_TRIALS``; by
        default those of this process
    :param flags: command-line option by place in the plan, for error messages
    :raises EvalPlanError: if a source cannot be read, or is not valid; names the variable, file or option
    """
    environ = os.environ if environ is None else environ
    variables = {setting.path: setting.variable for setting in SETTINGS if setting.variable}
    try:
        lowest: _Layer = environment_options(environ), partial(_nearest_place, variables)
    except ConfigError as error:
        raise EvalPlanError(str(error)) from None
    layers: tuple[_Layer, ...] = (
        lowest,
        *([_file_layer(Path(path))] if path else []),
        (given, partial(_nearest_place, flags)),
    )
    options = _blame_layer(layers, lambda: Options.of(merge_layers(layer[0] for layer in layers)))
    presets = with_files((), environ)

    def whole() -> EvalPlan:
        try:
            scenarios = select_all(options.scenarios)
        except ConfigError as error:
            raise PlaceError(("eval", "scenarios"), str(error).removeprefix("scenarios: ")) from None
        try:
            catalogue = presets.extended(Presets.of(parse(options.catalogue)))
        except PlaceError as error:
            raise PlaceError(("catalogue", *error.place), error.what) from None
        gates_of(options)  # whether they can be read, before anything is run
        plan = EvalPlan(options, catalogue, scenarios)
        check_cost_cap(plan)
        return plan

    return _blame_layer(layers, whole)


def _file_layer(path: Path) -> _Layer:
    text = read_file(path, EvalPlanError, "there is no such plan; correct its name")

    def checked(tree: dict[str, Any]) -> dict[str, Any]:
        Options.of(tree)
        return tree

    tree: dict[str, Any] = read_toml(str(path), text, checked, EvalPlanError)
    if words := tree.get("eval", {}).get("scenarios"):
        listed = comma_separated(words) if isinstance(words, str) else words
        tree = {**tree, "eval": {**tree["eval"], "scenarios": paths_beside(path.parent, listed)}}
    return (tree, lambda _: f"{path}")


def _blame_layer(layers: Iterable[_Layer], build: Callable[[], _Built]) -> _Built:
    """The result of ``build``; an error names the uppermost layer with a value at the place."""
    try:
        return build()
    except PlaceError as error:
        place = error.place
        for tree, names in reversed([*layers]):
            there = not place or place[-1] in tree_at(tree, *place[:-1])
            if there and (called := names(place)):
                what = error.what if called.startswith(("-", "OPENROUTER", "VERBOSE")) else str(error)
                raise EvalPlanError(f"{called}: {what}") from None
        raise EvalPlanError(str(error)) from None


def _nearest_place(names: Mapping[_Place, str], place: _Place) -> str:
    """The name of a place, or else of the table around it."""
    for length in range(len(place), 0, -1):
        if place[:length] in names:
            return names[place[:length]]
    return ""


def plan_of_header(header: Header) -> EvalPlan:
    """The plan of stored results, with the current catalogue and scenarios; of a shard, its part.

    :raises ResultsError: if something that it names no longer exists
    """
    try:
        plan = EvalPlan.of(header.plan, with_files(), stored_scenarios(header.plan))
        return replace(plan, shard=Shard.of(header.shard)) if header.shard else plan
    except (ConfigError, KeyError) as error:
        raise ResultsError(f"the plan of these results cannot be made again: {error}") from None


def shard_plan(plan: EvalPlan, shard: str) -> EvalPlan:
    """The part of a plan that one of several machines runs.

    Each has an equal part of every cell, and of ``budget.max_cost`` and ``budget.max_tokens``.

    :param shard: such as ``1/3`` for the first of three
    :raises EvalPlanError: if that is no shard
    """
    try:
        return replace(plan, shard=Shard.of(shard))
    except ConfigError as error:
        raise EvalPlanError(f"--shard: {error}") from None
