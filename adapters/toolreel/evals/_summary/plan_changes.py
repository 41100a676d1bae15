"""What was changed in a plan after its first run: gates that were set later, and other settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from toolreel._internal import ResultsError
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.plan_history import plan_of_first_runs
from toolreel.evals._store.results import Header
from toolreel_core._errors import ConfigError
from toolreel_core._internal import Table
from toolreel_core._jsontext import Json, JsonText, Tree, canonical
from toolreel_core.evals import Gate, GateResult, gate_from

_UNREMARKABLE: Final = ("eval.jobs", "eval.verbosity")
"""Settings that decide about no figure."""
LATER: Final = "this gate was set after the runs"


def gates_set_later(header: Header, gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """The gates that are not in the plan under which the first run was made.

    :raises ResultsError: if the header cannot be read
    """
    before = _gates(plan_of_first_runs(header.earlier, header.plan))
    return tuple(gate for gate in gates if gate not in before)


def with_lateness(results: Sequence[GateResult], header: Header) -> tuple[GateResult, ...]:
    """The results of a plan's gates, each of which says so if it was set after the runs."""
    late = gates_set_later(header, (one.gate for one in results))
    return tuple(
        replace(one, sentence=f"{one.sentence}; {LATER}") if one.gate in late else one for one in results
    )


def plan_changes(header: Header) -> tuple[str, ...]:
    """What was changed after the first run, in a sentence; none if nothing was.

    A setting that was changed and changed back is named too, since runs were made under it.
    """
    made_under = [*(each for each in header.earlier if each.records)]
    if not made_under:
        return ()
    plans = [_options(each.plan) for each in made_under] + [_options(header.plan)]
    lines = (line for plan in plans[1:] for line in configuration_differences(plans[0], plan))
    places = dict.fromkeys(line.partition(":")[0] for line in lines)
    named = [place for place in places if place not in _UNREMARKABLE]
    if not named:
        return ()
    return (f"The plan was changed after the first run (last: {header.since}): {', '.join(named)}.",)


def earlier_digests(header: Header) -> dict[str, Json]:
    """The earlier plans, for a summary; nothing where there is none."""
    trees: list[Json] = [
        {key: value for key, value in each.tree().items() if key in {"since", "digest"}}
        for each in header.earlier
    ]
    return {"earlier_plans": trees} if trees else {}


def _options(plan: Tree) -> JsonText:
    return canonical(plan.get("options", {}))


def _gates(plan: Tree) -> tuple[Gate, ...]:
    options = plan.get("options")
    trees = options.get("gate") if isinstance(options, dict) else None
    try:
        return tuple(
            gate_from(Table.of(tree, "gate")) for tree in (trees if isinstance(trees, list | tuple) else [])
        )
    except ConfigError as error:
        raise ResultsError(f"the gates of an earlier plan cannot be read: {error}") from None
