"""Plans from environment, TOML file and command line, or from stored results; and shards, joined.

Later sources override earlier ones. Errors name their source: the variable, the file and line, or the option.

What several machines have run is joined into what one machine would have written: records in the order of the
plan, so that the order of the directories makes no difference. A void run gives way to one that ended.
Everything else that disagrees is refused, because only the user can know which of them is right.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolreel._internal import EvalPlanError, ResultsError, read_text_file, read_toml
from toolreel.evals._results import (
    Header,
    Results,
    copy_recordings,
    read_header,
    write_atomically,
    write_json,
)
from toolreel.evals._runner.scenario_files import (
    resolve_scenario_paths,
    select_with_scenario_files,
    stored_scenarios,
)
from toolreel.presets import with_files
from toolreel_core._config_checks import PlaceError, unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Tree, canonical, parse, tree_at
from toolreel_core._plan import Presets
from toolreel_core.evals import (
    SETTINGS,
    Cell,
    EvalPlan,
    Options,
    Record,
    Shard,
    check_prices_for_cost_cap,
    environment_options,
    gates_of,
    merge_layers,
    record_line,
    split_comma_separated,
    tree_changes,
)

_Place = tuple[str, ...]

_NOTHING_GIVEN: Tree = {}
_NO_FLAGS: Mapping[_Place, str] = {}


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
    file, lowest = _read_plan_file(Path(path)) if path else _NOTHING_GIVEN, _NOTHING_GIVEN
    try:
        lowest = environment_options(environ)
        options = Options.of(merge_layers((lowest, file, given)))
        try:
            scenarios = select_with_scenario_files(options.scenarios)
        except ConfigError as error:
            raise PlaceError(("eval", "scenarios"), str(error)) from None
        try:
            presets = with_files((), environ).extended(Presets.of(parse(options.catalogue)))
        except PlaceError as error:
            raise PlaceError(("catalogue", *error.place), error.what) from None
        plan = EvalPlan(options, presets, scenarios)
        check_prices_for_cost_cap(plan)
        # Before anything is run: a directory keeps the gates that it began with.
        for gate in gates_of(options):
            for axis, value in (*gate.part.items(), ("strategy", gate.against)):
                known = dict.fromkeys(getattr(cell, axis) for cell in plan.cells())
                if value and value not in known:
                    raise PlaceError(("gate",), unknown_name_message(axis, value, known))
    except PlaceError as error:
        # The uppermost layer with a value at the place is to blame.
        place = error.place
        for tree, name in ((given, flags.get(place)), (file, str(path)), (lowest, variables.get(place))):
            if name and place and place[-1] in tree_at(tree, *place[:-1]):
                raise EvalPlanError(f"{name}: {error if tree is file else error.what}") from None
        raise EvalPlanError(str(error)) from None
    except ConfigError as error:
        raise EvalPlanError(str(error)) from None
    return plan


def _read_plan_file(path: Path) -> Tree:
    text = read_text_file(path, EvalPlanError, "there is no such plan; correct its name")
    tree: dict[str, Any] = read_toml(str(path), text, dict, EvalPlanError)
    read_toml(str(path), text, Options.of, EvalPlanError)  # alone, since an error is of the file then
    if words := tree.get("eval", {}).get("scenarios"):
        listed = split_comma_separated(words) if isinstance(words, str) else words
        tree = {**tree, "eval": {**tree["eval"], "scenarios": resolve_scenario_paths(path.parent, listed)}}
    return tree


def plan_of_header(header: Header) -> EvalPlan:
    """The plan of stored results, with the current catalogue and scenarios; of a shard, its part."""
    try:
        plan = EvalPlan.of(header.plan, with_files(), stored_scenarios(header.plan))
        return replace(plan, shard=Shard.of(header.shard)) if header.shard else plan
    except (ConfigError, KeyError) as error:
        raise ResultsError(f"the plan of these results cannot be made again: {error}") from None


def shard_plan(plan: EvalPlan, shard: str) -> EvalPlan:
    """The part of a plan that one of several machines runs.

    Each has an equal part of every cell, and of ``budget.max_cost`` and ``budget.max_tokens``.

    :param shard: such as ``1/3`` for the first of three
    :raises EvalPlanError: if that is not a shard
    """
    try:
        return replace(plan, shard=Shard.of(shard))
    except ConfigError as error:
        raise EvalPlanError(f"--shard: {error}") from None


_MAY_DIFFER = ("plan.options.eval.jobs:", "plan.options.eval.verbosity:")
"""How many runs a machine makes at a time decides about none of them."""


def join_results(sources: Sequence[Path | str], out: Path | str) -> None:
    """Join directories of the same plan into a new one, with their recordings; all of it or nothing.

    :raises ResultsError: if plans or runs disagree, with both sides; or if ``out`` is there already
    :raises CassetteError: if a recording is missing
    """
    folders, out = [*map(Path, sources)], Path(out)
    if out.exists() and any(out.iterdir()):
        raise ResultsError(f"{out}: exists already; name another directory (--out)")
    header = _header_of_joined_results(folders, [read_header(folder / "header.json") for folder in folders])
    places = {
        (sample.cell, sample.trial): place for place, sample in enumerate(plan_of_header(header).samples())
    }
    kept: dict[tuple[Cell, int], tuple[Record, Path]] = {}
    for source in dict.fromkeys(folders):
        for record in Results.open(source).records():
            run, void = (record.cell, record.trial), record.verdict.result == "void"
            before, there = kept.setdefault(run, (record, source))
            if before.verdict.result == "void" and not void:
                kept[run] = record, source
            elif not void and before != record:
                changes = tree_changes(record_line(before), record_line(record))[:5]
                what = f"{', '.join(filter(None, record.cell.axes))}, trial {record.trial}"
                raise ResultsError(
                    "\n  ".join((f"{what} is another run in {source} than in {there}:", *changes))
                )
    order = sorted(kept, key=lambda run: places.get(run, len(places)))
    draft = out.with_name(f".{out.name}.{secrets.token_hex(6)}.tmp")
    try:
        write_json(draft / "header.json", header.tree())
        write_atomically(draft / "journal.jsonl", "".join(f"{record_line(kept[run][0])}\n" for run in order))
        for record, source in kept.values():
            copy_recordings(source, (record.cassette,), draft)
        draft.replace(out)
    except OSError as error:
        raise ResultsError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _header_of_joined_results(sources: Sequence[Path], headers: Sequence[Header]) -> Header:
    first, *others = (canonical(replace(each, created="", versions={}, shard="").tree()) for each in headers)
    for source, other in zip(sources[1:], others, strict=True):
        differences = tree_changes(first, other)
        if changes := [each for each in differences if not each.startswith(_MAY_DIFFER)]:
            raise ResultsError(
                "\n  ".join((f"{sources[0]} and {source} are not of the same plan:", *changes))
                + "\nonly directories of one plan can be joined; `toolreel eval compare` compares others"
            )
    return replace(headers[0], created=min(header.created for header in headers), shard="")
