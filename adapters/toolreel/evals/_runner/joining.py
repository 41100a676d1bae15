"""Join the directories of an evaluation that several machines have run.

The result is what one machine would have written: records in the order of the plan, so that the order of the
directories makes no difference. A void run gives way to one that ended. Everything else that disagrees is
refused, because only the user can know which of them is right.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from toolreel._internal import ResultsError
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.recordings import copy_recordings
from toolreel.evals._store.results import Header, Results, read_header, write_atomically, write_json
from toolreel_core._jsontext import JsonText, canonical
from toolreel_core.evals import Cell, Record, record_line

_Run: TypeAlias = tuple[Cell, int]
_MAY_DIFFER: Final = ("plan.options.eval.jobs:", "plan.options.eval.verbosity:")
"""How many runs a machine makes at a time decides about none of them."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """One run of the whole, as its line in the journal: records would need far more memory."""

    line: JsonText
    source: Path
    cassette: str
    void: bool


def join_results(sources: Sequence[Path | str], out: Path | str) -> None:
    """Join directories of the same plan into a new one, with their recordings; all of it or nothing.

    :raises ResultsError: if plans or runs disagree, with both sides; or if ``out`` is there already
    :raises CassetteError: if a recording is missing
    """
    folders, out = [*map(Path, sources)], Path(out)
    if out.exists() and any(out.iterdir()):
        raise ResultsError(f"{out}: exists already; name another directory (--out)")
    header = _header(folders, [read_header(folder / "header.json") for folder in folders])
    plan = plan_of_header(header)
    places: Mapping[_Run, int] = {
        (sample.cell, sample.trial): place for place, sample in enumerate(plan.samples())
    }
    runs = _runs(folders)
    last = len(places)
    order = sorted(runs, key=lambda run: (places.get(run, last), *run[0].axes, run[1]))
    kept = [runs[run] for run in order]
    draft = out.with_name(f".{out.name}.{secrets.token_hex(6)}.tmp")
    try:
        write_json(draft / "header.json", header.tree())
        write_atomically(draft / "journal.jsonl", "".join(f"{one.line}\n" for one in kept))
        for one in kept:
            copy_recordings(one.source, (one.cassette,), draft)
        draft.replace(out)
    except OSError as error:
        raise ResultsError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _header(sources: Sequence[Path], headers: Sequence[Header]) -> Header:
    """The header of the whole.

    :raises ResultsError: if the directories are of different plans
    """
    first = headers[0]
    for source, header in zip(sources[1:], headers[1:], strict=True):
        if changes := [*_changes(first, header)]:
            raise ResultsError(
                "\n  ".join((f"{sources[0]} and {source} are not of the same plan:", *changes))
                + "\nonly directories of one plan can be joined; `toolreel eval compare` compares others"
            )
    return replace(first, created=min(header.created for header in headers), shard="")


def _changes(one: Header, other: Header) -> Iterable[str]:
    """What differs between two evaluations so that their runs are not of one."""
    before, after = (
        canonical({"taxonomy": each.taxonomy, "catalogue": each.catalogue, "plan": each.plan})
        for each in (one, other)
    )
    return (each for each in configuration_differences(before, after) if not each.startswith(_MAY_DIFFER))


def _runs(sources: Sequence[Path]) -> Mapping[_Run, _Kept]:
    """Each run, whichever directory it is in."""
    found: dict[_Run, _Kept] = {}
    for source in dict.fromkeys(sources):
        for record in Results.open(source).records():
            run = record.cell, record.trial
            now = _Kept(record_line(record), source, record.cassette, record.verdict.result == "void")
            found[run] = _joined(found[run], now, record) if run in found else now
    return found


def _joined(one: _Kept, other: _Kept, record: Record) -> _Kept:
    """The one that counts of two records of a run.

    :raises ResultsError: if both have ended, and are not the same
    """
    if other.void or one.line == other.line:
        return one
    if one.void:
        return other
    cell = record.cell
    run = f"{cell.model}, {cell.strategy}, {cell.scenario}, trial {record.trial}"
    changes = configuration_differences(one.line, other.line)[:5]
    lines = (f"{run} is another run in {other.source} than in {one.source}:", *changes)
    raise ResultsError(
        "\n  ".join(lines) + "\nleave one of the directories out, or remove one of the two runs"
    )
