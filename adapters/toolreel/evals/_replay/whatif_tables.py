"""What-if results as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from toolreel.evals._statistics.rate_comparisons import Paired, compare_paired
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._records.what_if import Fate, WhatIf, WhatIfTally

_COUNTED: Final[tuple[Fate, ...]] = ("recovery", "loss", "unchanged", "diverged", "undecided")
_HEAD: Final = ("strategy", "recoveries", "losses", "unchanged", "diverged", "undecided", "exact p")


def whatif_lines(recorded: str, tallies: Mapping[str, WhatIfTally], *, every: bool = False) -> Iterator[str]:
    """Lines for a terminal.

    :param every: whether each run has one; by default only those that change
    """
    for strategy, tally in tallies.items():
        yield f"{recorded} -> {strategy}: {_counts(tally)}"
        yield f"  {_test(compare_paired(tally.pairs))}"
        for (turn, kind), runs in tally.divergences.items():
            yield f"  diverged at turn {turn}: {runs} by {kind}"
        for why, runs in Counter(run.reason for run in tally.of("undecided")).most_common():
            yield f"  undecided: {runs} because {why}"
        for run in tally.runs:
            if every or run.fate in {"recovery", "loss"}:
                yield f"  {_line(run)}"


def whatif_markdown(recorded: str, tallies: Mapping[str, WhatIfTally]) -> str:
    """The same as Markdown."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *(_row(name, tally) for name, tally in tallies.items())]
    lines = [f"## Replies recorded under `{recorded}`, under other strategies", ""]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    for strategy, tally in tallies.items():
        if tally.divergences:
            lines += ["", f"First divergence under `{strategy}`:", ""]
            lines += ["| turn | by | runs |", "| --- | --- | --- |"]
            lines += [f"| {turn} | {kind} | {runs} |" for (turn, kind), runs in tally.divergences.items()]
        if changed := [*tally.of("recovery"), *tally.of("loss")]:
            lines += ["", f"Changed under `{strategy}`:", "", *(f"- `{_line(run)}`" for run in changed)]
    return "\n".join(lines) + "\n"


def whatif_tree(recorded: str, tallies: Mapping[str, WhatIfTally]) -> Tree:
    """The same for machines."""
    return {"from": recorded, "to": {name: _tree(tally) for name, tally in tallies.items()}}


def _counts(tally: WhatIfTally) -> str:
    recoveries, losses, same, diverged, undecided = (len(tally.of(fate)) for fate in _COUNTED)
    return (
        f"{len(tally.runs)} runs, {recoveries} recoveries, {losses} losses, {same} unchanged, "
        f"{diverged} diverged, {undecided} undecided"
    )


def _test(paired: Paired | None) -> str:
    if paired is None:
        return "no run is decided"
    difference = f"{100 * paired.difference:+.1f} points, {paired.interval}"
    return f"{paired.pairs.runs} decided: {difference}; exact McNemar p = {paired.exact_p:.4g}"


def _line(run: WhatIf) -> str:
    cell = run.cell
    name = f"{run.key[:12]}  {cell.model} {cell.scenario} trial {run.trial}  {run.fate}"
    if run.fate == "undecided":
        return f"{name}: {run.reason}"
    where = f"at turn {run.turn}: {run.diverged.what}" if run.diverged else ""
    was = (run.was.category or run.was.result) if run.was else ""
    now = (run.now.category or run.now.result) if run.now else ""
    return f"{name}: {was} -> {now or where}" + (f" ({where})" if now and where else "")


def _row(strategy: str, tally: WhatIfTally) -> tuple[str, ...]:
    paired = compare_paired(tally.pairs)
    counts = (str(len(tally.of(fate))) for fate in _COUNTED)
    return (strategy, *counts, f"{paired.exact_p:.4g}" if paired else "")


def _tree(tally: WhatIfTally) -> Tree:
    paired = compare_paired(tally.pairs)
    test: Json = None
    if paired:
        test = {
            "pairs": paired.pairs.runs,
            "difference": paired.difference,
            "low": paired.interval.low,
            "high": paired.interval.high,
            "exact_p": paired.exact_p,
            "mid_p": paired.mid_p,
        }
    return {
        **{fate: len(tally.of(fate)) for fate in _COUNTED},
        "mcnemar": test,
        "divergences": [
            {"turn": turn, "kind": kind, "runs": runs} for (turn, kind), runs in tally.divergences.items()
        ],
        "runs": [_run(run) for run in tally.runs],
    }


def _run(run: WhatIf) -> Tree:
    content: dict[str, Json] = {
        "key": run.key,
        "model": run.cell.model,
        "scenario": run.cell.scenario,
        "trial": run.trial,
        "fate": run.fate,
        "was": run.was.result if run.was else None,
        "now": run.now.result if run.now else None,
    }
    if run.diverged:
        content["diverged"] = {"turn": run.turn, "kind": run.diverged.kind, "what": run.diverged.what}
    if run.reason:
        content["reason"] = run.reason
    return content
