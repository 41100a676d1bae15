"""Recorded runs under other settings, as lines, tables and JSON: what-if, and bisection."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from toolreel.evals._replay.bisect import Bisected
from toolreel.evals._replay.whatif import FATES, Fate, Rejudged
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


def whatif_lines(strategy: str, found: Mapping[str, Sequence[Rejudged]]) -> Iterator[str]:
    """Counts by recorded strategy, and each run that is lost or gained."""
    for recorded, runs in found.items():
        fates = Counter(run.fate for run in runs)
        same = fates["won"] + fates["failed"]
        yield (
            f"{recorded} -> {strategy}: {len(runs)} runs, {fates['gained']} gained, {fates['lost']} lost, "
            f"{same} unchanged, {fates['diverged']} diverged, {fates['undecided']} undecided"
        )
        for what, reasons in (
            ("diverged at", (run.diverged for run in runs if run.fate == "diverged")),
            ("undecided because", (run.reason for run in runs if run.fate == "undecided")),
        ):
            for why, count in Counter(reasons).most_common():
                yield f"  {what} {why}: {count}"
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


_FATES: Final[Mapping[Fate, str]] = {
    "gained": "lost under {0}, won under {1}",
    "lost": "won under {0}, lost under {1}",
    "failed": "lost under both",
    "won": "won under both",
    "undecided": "undecided",
}


def bisection_lines(runs: Sequence[Bisected], first: str, second: str, folder: str) -> Iterator[str]:
    """How many runs became what, and what is undecided."""
    fates = Counter(each.run.fate for each in runs)
    counts = [f"{fates[fate]} {text.format(first, second)}" for fate, text in _FATES.items()]
    yield f"{first} -> {second}, {len(runs)} recorded runs by their own replies: {'; '.join(counts)}"
    undecided = Counter(each.run.reason for each in runs if each.run.fate == "undecided")
    yield from (f"undecided: {count} because {reason}" for reason, count in undecided.most_common())
    if broken := fates["lost"]:
        yield (
            f"What loses the {broken} runs that {second} breaks: "
            f"toolreel eval bisect DIR --from {second} --to {first}"
        )
    if not fates["gained"]:
        yield f"No run is turned, so no setting of {second} is needed by a recorded reply."
    elif idle := _idle(runs):
        yield f"These differences turn no run: {', '.join(idle)}"
    if keys := _tallied(runs, first, second, folder):
        yield "What shows each setting that turns a run; leave out the key of the run to see all of them:"
        yield from (command for *_, command in keys)


def _idle(runs: Iterable[Bisected]) -> list[str]:
    """The names of the keys that turn no run, though runs were turned by others."""
    turned = [(each.keys, each.found) for each in runs if each.found]
    turning = {
        str(key) for _, found in turned for key in (*found.alone, *(found.items if found.items[1:] else ()))
    }
    return [
        name for name in dict.fromkeys(str(key) for keys, _ in turned for key in keys) if name not in turning
    ]


def bisection_tables(runs: Sequence[Bisected], first: str, second: str) -> list[TextTable]:
    """The keys that turn runs, and the runs that are turned; empty tables are left out."""
    turned = sum(each.found is not None for each in runs)
    keys = tuple(
        (str(key), key.change or "-", f"{alone}/{turned}", f"{together}/{turned}")
        for key, alone, together, _ in _tallied(runs, first, second, "")
    )
    rows = tuple(
        (
            each.run.record.key[:12],
            " ".join(map(str, each.found.items)),
            _search(each),
            each.run.record.cell.scenario,
            str(each.run.record.trial),
            each.run.before.category if each.run.before else "",
            each.run.record.cell.strategy,
            each.run.record.cell.model,
        )
        for each in runs
        if each.found
    )
    head = ("run", "smallest set", "search", "scenario", "trial", "lost by", "replies of", "model")
    notes = ("alone: runs that this setting turns alone; together: runs that need it and others",)
    tables = (
        TextTable("settings that turn runs", ("setting", "change", "alone", "together"), keys, notes),
        TextTable("runs that are turned", head, rows),
    )
    return [table for table in tables if table.rows]


def _search(each: Bisected) -> str:
    """Whether the set is the smallest, or what is known of it."""
    if each.found is None or each.found.smallest:
        return "smallest"
    return f"minimal, {each.found.undecided} sets undecided" if each.found.undecided else "minimal"


def _tallied(
    runs: Iterable[Bisected], first: str, second: str, folder: str
) -> list[tuple[Key, int, int, str]]:
    """The keys that turn a run, those that turn most first: alone, and together with others."""
    alone, together, shown = Counter[Key](), Counter[Key](), dict[Key, str]()
    for each in runs:
        if each.found is None:
            continue
        alone.update(each.found.alone)
        if each.found.items[1:]:
            together.update(each.found.items)
        for key in (*each.found.alone, *(each.found.items if each.found.items[1:] else ())):
            others = () if key in each.found.alone else (other for other in each.found.items if other != key)
            shown.setdefault(key, command(each.run.record.key, (key, *others), first, second, folder))
    order = sorted(shown, key=lambda key: (-alone[key] - together[key], str(key)))
    return [(key, alone[key], together[key], shown[key]) for key in order]


def command(run: str, keys: Iterable[Key], first: str, second: str, folder: str) -> str:
    """What shows that some settings turn a run."""
    only = [word for key in keys for word in ("--only", str(key))]
    words = ("toolreel", "eval", "bisect", folder, run[:12], "--from", first, "--to", second, *only)
    return shlex.join(words)


def bisection_tree(runs: Sequence[Bisected], first: str, second: str, folder: str) -> Tree:
    """All of a bisection."""
    undecided = Counter(each.run.reason for each in runs if each.run.fate == "undecided")
    trees: list[Json] = []
    for each in runs:
        tree = _run_tree(each.run)
        if each.found:
            tree |= {
                "smallest_set": [str(key) for key in each.found.items],
                "is_smallest": each.found.smallest,
                "alone": [str(key) for key in each.found.alone],
                "undecided_sets": each.found.undecided,
                "command": command(each.run.record.key, each.found.items, first, second, folder),
            }
        trees.append(tree)
    return {
        "from": first,
        "to": second,
        **_fates(each.run for each in runs),
        "reasons": [{"reason": reason, "runs": count} for reason, count in undecided.most_common()],
        "keys": [
            {
                "key": str(key),
                "before": key.before,
                "after": key.after,
                "alone": alone,
                "together": together,
                "command": shown,
            }
            for key, alone, together, shown in _tallied(runs, first, second, folder)
        ],
        "idle": list(_idle(runs)),
        "runs": trees,
    }
