"""Recorded runs under other settings, as lines, tables and JSON: what-if, and bisection."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolreel.evals._replay.bisect import Bisected, Minimal
from toolreel.evals._replay.whatif import FATES, Rejudged
from toolreel.evals._report.rendering import TextTable, shortened
from toolreel_core._jsontext import Json, Tree
from toolreel_core.evals import Key, Record, Verdict


def run_line(record: Record) -> str:
    """What a line calls a run."""
    return f"{record.key[:12]}  {record.cell.model} {record.cell.scenario} trial {record.trial}"


def verdict_line(verdict: Verdict | None, why: str) -> str:
    """The verdict about a run under some settings, in a line."""
    if verdict is None:
        return f"undecided: {why}"
    return shortened(": ".join(filter(None, (verdict.result, verdict.category, *verdict.reasons[:1]))))


def fate_lines(first: str, second: str, runs: Sequence[Rejudged]) -> Iterator[str]:
    """How many runs of the first strategy became what under the second, and why not all are decided."""
    fates = Counter(run.fate for run in runs)
    yield (
        f"{first} -> {second}: {len(runs)} runs, {fates['gained']} gained, {fates['lost']} lost, "
        f"{fates['won'] + fates['failed']} unchanged, {fates['diverged']} diverged, "
        f"{fates['undecided']} undecided"
    )
    for what, reasons in (
        ("diverged at", (run.diverged for run in runs if run.fate == "diverged")),
        ("undecided because", (run.reason for run in runs if run.fate == "undecided")),
    ):
        for why, count in Counter(reasons).most_common():
            yield f"  {what} {why}: {count}"


def whatif_lines(strategy: str, found: Mapping[str, Sequence[Rejudged]]) -> Iterator[str]:
    """Counts by recorded strategy, and each run that is lost or gained."""
    for recorded, runs in found.items():
        yield from fate_lines(recorded, strategy, runs)
        for run in runs:
            if run.fate in {"gained", "lost"}:
                was, now = ((one.category or one.result) if one else "" for one in (run.before, run.after))
                yield f"  {run_line(run.record)}  {run.fate}: {was} -> {now}"


def whatif_tree(strategy: str, found: Mapping[str, Sequence[Rejudged]]) -> Tree:
    """The same for machines, with all runs."""
    return {
        "strategy": strategy,
        "from": {
            name: {**_fates(runs), "runs": [_run_tree(run) for run in runs]} for name, runs in found.items()
        },
    }


def _fates(runs: Iterable[Rejudged]) -> dict[str, Json]:
    counts = Counter(run.fate for run in runs)
    return {fate: counts[fate] for fate in FATES}


def _run_tree(run: Rejudged) -> dict[str, Json]:
    cell = run.record.cell
    return {
        "key": run.record.key,
        "model": cell.model,
        "profile": cell.profile,
        "scenario": cell.scenario,
        "trial": run.record.trial,
        "replies_of": cell.strategy,
        "fate": run.fate,
        "before": run.before.result if run.before else None,
        "after": run.after.result if run.after else None,
        "category": run.before.category or None if run.before else None,
        "diverged": run.diverged or None,
        "reason": run.reason or None,
    }


def bisection_lines(runs: Sequence[Bisected], first: str, second: str, folder: str) -> Iterator[str]:
    """How many runs became what, and what shows each setting that turns one."""
    yield from fate_lines(first, second, runs)
    if broken := sum(run.fate == "lost" for run in runs):
        yield (
            f"What loses the {broken} runs that {second} breaks: "
            f"toolreel eval bisect DIR --from {second} --to {first}"
        )
    tallied = _tallied(runs)
    if not tallied:
        yield f"No run is turned, so no setting of {second} is needed by a recorded reply."
        return
    if idle := _idle(runs):
        yield f"These differences turn no run: {', '.join(idle)}"
    yield "What shows each setting that turns a run; leave out the key of the run to see all of them:"
    yield from (_command(run, keys, first, second, folder) for *_, run, keys in tallied)


def bisection_tables(runs: Sequence[Bisected]) -> list[TextTable]:
    """The keys that turn runs, and the runs that are turned; empty tables are left out."""
    turned = sum(run.found is not None for run in runs)
    keys = tuple(
        (str(key), key.change or "-", f"{alone}/{turned}", f"{together}/{turned}")
        for key, alone, together, *_ in _tallied(runs)
    )
    rows = tuple(
        (
            run.record.key[:12],
            " ".join(map(str, run.found.items)),
            _search(run.found),
            run.record.cell.scenario,
            str(run.record.trial),
            run.before.category if run.before else "",
            run.record.cell.strategy,
            run.record.cell.model,
        )
        for run in runs
        if run.found
    )
    head = ("run", "smallest set", "search", "scenario", "trial", "lost by", "replies of", "model")
    notes = ("alone: runs that this setting turns alone; together: runs that need it and others",)
    tables = (
        TextTable("settings that turn runs", ("setting", "change", "alone", "together"), keys, notes),
        TextTable("runs that are turned", head, rows),
    )
    return [table for table in tables if table.rows]


def bisection_tree(runs: Sequence[Bisected], first: str, second: str, folder: str) -> Tree:
    """All of a bisection."""
    undecided = Counter(run.reason for run in runs if run.fate == "undecided")
    trees: list[Json] = []
    for run in runs:
        tree = _run_tree(run)
        if run.found:
            tree |= {
                "smallest_set": [str(key) for key in run.found.items],
                "is_smallest": run.found.smallest,
                "alone": [str(key) for key in run.found.alone],
                "undecided_sets": run.found.undecided,
                "command": _command(run, run.found.items, first, second, folder),
            }
        trees.append(tree)
    return {
        "from": first,
        "to": second,
        **_fates(runs),
        "reasons": [{"reason": reason, "runs": count} for reason, count in undecided.most_common()],
        "keys": [
            {
                "key": str(key),
                "before": key.before,
                "after": key.after,
                "alone": alone,
                "together": together,
                "command": _command(run, keys, first, second, folder),
            }
            for key, alone, together, run, keys in _tallied(runs)
        ],
        "idle": _idle(runs),
        "runs": trees,
    }


def _search(found: Minimal[Key]) -> str:
    """Whether the set is the smallest, or what is known of it."""
    if found.smallest:
        return "smallest"
    return f"minimal, {found.undecided} sets undecided" if found.undecided else "minimal"


def _tallied(runs: Iterable[Bisected]) -> list[tuple[Key, int, int, Bisected, tuple[Key, ...]]]:
    """The keys that turn runs, those that turn most first.

    Each with the number of runs that it turns alone and together with others, a run that it turns, and all
    keys that turn that one.
    """
    alone, together = Counter[Key](), Counter[Key]()
    shown = dict[Key, tuple[Bisected, tuple[Key, ...]]]()
    for run in runs:
        if run.found is None:
            continue
        needed = run.found.items if len(run.found.items) > 1 else ()
        alone.update(run.found.alone)
        together.update(needed)
        for key in run.found.alone:
            shown.setdefault(key, (run, (key,)))
        for key in needed:
            shown.setdefault(key, (run, (key, *(other for other in needed if other != key))))
    order = sorted(shown, key=lambda key: (-alone[key] - together[key], str(key)))
    return [(key, alone[key], together[key], *shown[key]) for key in order]


def _idle(runs: Sequence[Bisected]) -> list[str]:
    """The names of the keys that turn no run, though runs were turned by others."""
    turning = {str(key) for key, *_ in _tallied(runs)}
    names = dict.fromkeys(str(key) for run in runs if run.found for key in run.keys)
    return [name for name in names if name not in turning]


def _command(run: Bisected, keys: Iterable[Key], first: str, second: str, folder: str) -> str:
    """What shows that some settings turn a run."""
    only = [word for key in keys for word in ("--only", str(key))]
    key = run.record.key[:12]
    return shlex.join(("toolreel", "eval", "bisect", folder, key, "--from", first, "--to", second, *only))
