"""A bisection as tables and as JSON; each row has the command that shows it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from toolreel.evals._tables.table import TextTable, out_of, shortened
from toolreel_core._jsontext import Json, Tree
from toolreel_core.evals import Bisected, Bisection, Key, KeyTally, SettingFate, Verdict

_FATES: dict[SettingFate, str] = {
    "turned": "lost under {0}, won under {1}",
    "broken": "won under {0}, lost under {1}",
    "lost_again": "lost under both",
    "won_already": "won under both",
    "undecided": "undecided",
}


def bisection_lines(found: Bisection) -> tuple[str, ...]:
    """How many runs became what, and what is undecided."""
    first, second = found.first, found.second
    counts = [f"{len(found.of(fate))} {text.format(first, second)}" for fate, text in _FATES.items()]
    lines = [
        f"{first} -> {second}, {len(found.runs)} recorded runs by their own replies: {'; '.join(counts)}"
    ]
    lines += [f"undecided: {count} because {reason}" for reason, count in found.reasons]
    if broken := found.of("broken"):
        lines.append(
            f"What loses the {len(broken)} runs that {second} breaks: "
            f"toolreel eval bisect DIR --from {second} --to {first}"
        )
    if not found.of("turned"):
        lines.append(f"No run is turned, so no setting of {second} is needed by a recorded reply.")
    elif found.idle:
        lines.append(f"These differences turn no run: {', '.join(found.idle)}")
    return tuple(lines)


def bisection_tables(found: Bisection, folder: str) -> tuple[TextTable, ...]:
    """The keys that turn runs, and the runs that are turned; empty tables are left out."""
    tables = (_keys(found, folder), _runs(found, folder))
    return tuple(table for table in tables if table.rows)


def bisection_tree(found: Bisection, folder: str) -> dict[str, Json]:
    """All of it."""
    return {
        "from": found.first,
        "to": found.second,
        **{fate: len(found.of(fate)) for fate in _FATES},
        "reasons": [{"reason": reason, "runs": runs} for reason, runs in found.reasons],
        "keys": [_key_tree(tally, found, folder) for tally in found.tallies],
        "idle": list(found.idle),
        "runs": [_run_tree(run, found, folder) for run in found.runs],
    }


def _keys(found: Bisection, folder: str) -> TextTable:
    turned = len(found.of("turned"))
    rows = tuple(
        (
            str(tally.key),
            tally.key.change or "-",
            out_of(tally.alone, turned),
            out_of(tally.together, turned),
            _command(found, folder, tally.example, (tally.key, *tally.partners)),
        )
        for tally in found.tallies
    )
    notes = (
        "alone: runs that this setting turns alone; together: runs that need it and others",
        "the command shows it for one run; leave out the key of the run to see all of them",
    )
    return TextTable(
        "settings that turn runs", ("setting", "change", "alone", "together", "shown by"), rows, notes
    )


def _runs(found: Bisection, folder: str) -> TextTable:
    rows = tuple(
        (
            run.key[:12],
            run.cell.model,
            run.cell.scenario,
            str(run.trial),
            run.cell.strategy,
            run.first.category if run.first else "",
            " ".join(map(str, run.found.items)),
            _exactness(run),
            _command(found, folder, run.key, run.found.items),
        )
        for run in found.of("turned")
        if run.found
    )
    head = (
        "run",
        "model",
        "scenario",
        "trial",
        "replies of",
        "lost by",
        "smallest set",
        "search",
        "shown by",
    )
    return TextTable("runs that are turned", head, rows)


def _exactness(run: Bisected) -> str:
    """Whether the set is the smallest, or what is known of it."""
    if run.found is None or run.found.smallest:
        return "smallest"
    return f"minimal, {run.found.undecided} sets undecided" if run.found.undecided else "minimal"


def _command(found: Bisection, folder: str, run: str, keys: Iterable[Key]) -> str:
    only = [word for key in keys for word in ("--only", str(key))]
    words = [
        "toolreel",
        "eval",
        "bisect",
        folder,
        run[:12],
        "--from",
        found.first,
        "--to",
        found.second,
        *only,
    ]
    return shlex.join(words)


def _key_tree(tally: KeyTally, found: Bisection, folder: str) -> Tree:
    return {
        "key": str(tally.key),
        "before": tally.key.before,
        "after": tally.key.after,
        "alone": tally.alone,
        "together": tally.together,
        "command": _command(found, folder, tally.example, (tally.key, *tally.partners)),
    }


def _run_tree(run: Bisected, found: Bisection, folder: str) -> Tree:
    tree: dict[str, Json] = {
        "key": run.key,
        "model": run.cell.model,
        "profile": run.cell.profile,
        "scenario": run.cell.scenario,
        "trial": run.trial,
        "replies_of": run.cell.strategy,
        "fate": run.fate,
        "first": _verdict_tree(run.first),
        "second": _verdict_tree(run.second),
    }
    if run.reason:
        tree["reason"] = run.reason
    if run.found:
        tree |= {
            "smallest_set": [str(key) for key in run.found.items],
            "is_smallest": run.found.smallest,
            "alone": [str(key) for key in run.found.alone],
            "undecided_sets": run.found.undecided,
            "command": _command(found, folder, run.key, run.found.items),
        }
    return tree


def _verdict_tree(verdict: Verdict | None) -> Json:
    return {"result": verdict.result, "category": verdict.category or None} if verdict else None


def verdict_line(verdict: Verdict | None, why: str) -> str:
    """The verdict about a run under some settings, in a line."""
    if verdict is None:
        return f"undecided: {why}"
    return shortened(": ".join(filter(None, (verdict.result, verdict.category, *verdict.reasons[:1]))))
