"""Join the directories of an evaluation that several machines have run, or one machine on several days.

The result is what one machine would have written: records in the order of the plan, so that the order of the
directories makes no difference. A run that is in several of them must be the same run in all; only a void
run gives way to one that ended, as it would when ``eval run`` repeats it. Everything else that disagrees is
refused, with both sides, because only the user can know which of them is right.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from toolreel._internal.errors import ResultsError
from toolreel.evals._runner.adaptive import course_of, rule_of
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.recordings import copy_recordings, recording_bytes
from toolreel.evals._store.results import (
    Header,
    Results,
    all_records,
    read_header,
    write_atomically,
    write_json,
)
from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record, record_line, record_of

_Run: TypeAlias = tuple[Cell, int]


@dataclass(frozen=True, slots=True)
class Merged:
    """What was joined."""

    runs: int
    """Runs of the whole."""
    in_several: int
    """Runs that were in more than one directory."""
    void_replaced: int
    """Void runs that ended in another directory."""
    missing_shards: tuple[str, ...] = ()
    """Shards of which there is no directory, such as ``3/3``."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Packages of which the machines had different versions."""
    unchanged: bool = False
    """Whether the target had the same already, so that nothing was written."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One record, as its line in the journal: twenty thousand records would need far more memory."""

    text: JsonText
    key: str
    void: bool
    cassette: str

    @classmethod
    def of(cls, record: Record) -> _Line:
        return cls(record_line(record), record.key, record.verdict.result == "void", record.cassette)


@dataclass(frozen=True, slots=True)
class _Kept:
    """One run of the merged evaluation."""

    lines: tuple[_Line, ...]
    """The last one counts."""
    source: Path
    """Where the recording of that one is."""
    sources: int
    void_replaced: int


def merge_results(sources: Sequence[Path | str], out: Path | str) -> Merged:
    """Join directories of the same plan into a new one, with their recordings.

    It appears as a whole or not at all. Where ``out`` has the same already, nothing is written.

    :raises ResultsError: if plans, runs or recordings disagree, names both sides; or if ``out`` is something
        else
    :raises CassetteError: if a recording is missing
    """
    folders, out = [*map(Path, sources)], Path(out)
    headers = [read_header(folder / "header.json") for folder in folders]
    header = _header(folders, headers)
    plan = plan_of_header(header)
    kept = _ordered(plan, _kept(folders))
    draft = out.with_name(f".{out.name}.{secrets.token_hex(6)}.tmp")
    merged = Merged(
        len(kept),
        sum(one.sources > 1 for one in kept),
        sum(one.void_replaced for one in kept),
        _missing_shards(headers),
        _several(headers),
    )
    try:
        _write(draft, header, plan, kept)
        return replace(merged, unchanged=_put(draft, out))
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, out: Path) -> bool:
    """Give the draft its name; returns whether it was there already."""
    if out.exists() and any(out.iterdir()):
        if all(_same(draft / name, out / name) for name in ("header.json", "journal.jsonl")):
            return True
        raise ResultsError(f"{out}: exists already, and is something else; name another directory (--out)")
    try:
        draft.replace(out)
    except OSError as error:
        raise ResultsError(f"{out}: cannot be written: {error.strerror or error}") from error
    return False


def _same(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def _write(draft: Path, header: Header, plan: EvalPlan, kept: Sequence[_Kept]) -> None:
    write_json(draft / "header.json", header.tree())
    lines = (f"{line.text}\n" for one in kept for line in one.lines)
    write_atomically(draft / "journal.jsonl", "".join(lines))
    for one in kept:
        copy_recordings(one.source, (one.lines[-1].cassette,), draft)
    if rule_of(plan):
        course_of(plan, Results.open(draft).records()).save(draft)


def _header(sources: Sequence[Path], headers: Sequence[Header]) -> Header:
    """The header of the whole.

    :raises ResultsError: if the directories are of different plans
    """
    if not headers:
        raise ResultsError("name the directories to be joined")
    for source, header in zip(sources[1:], headers[1:], strict=True):
        if changes := _changes(headers[0], header):
            raise ResultsError(
                "\n  ".join((f"{sources[0]} and {source} are not of the same plan:", *changes))
                + "\nonly directories of one plan can be joined; `toolreel eval compare` compares others"
            )
    names = dict.fromkeys(name for header in headers for name in header.versions)
    return replace(
        min(headers, key=lambda header: canonical(header.plan)),
        created=min(header.created for header in headers),
        versions={name: ", ".join(_versions(headers, name)) for name in names},
        shard="",
    )


_MAY_DIFFER: Final = ("plan.options.eval.jobs:", "plan.options.eval.verbosity:")
"""How many runs a machine makes at a time decides about none of them."""


def _changes(one: Header, other: Header) -> list[str]:
    """What differs between two evaluations so that their runs are not of one."""
    before, after = (canonical({"taxonomy": each.taxonomy, "plan": each.plan}) for each in (one, other))
    changes = [each for each in configuration_differences(before, after) if not each.startswith(_MAY_DIFFER)]
    if one.catalogue != other.catalogue:
        versions = (header.versions.get("toolreel", "unknown") for header in (one, other))
        changes.append(f"scenarios or presets of toolreel itself (version {' -> '.join(versions)})")
    return changes


def _versions(headers: Sequence[Header], name: str) -> list[str]:
    return sorted({header.versions[name] for header in headers if name in header.versions})


def _several(headers: Sequence[Header]) -> dict[str, str]:
    names = dict.fromkeys(name for header in headers for name in header.versions)
    return {name: ", ".join(found) for name in names if len(found := _versions(headers, name)) > 1}


def _missing_shards(headers: Sequence[Header]) -> tuple[str, ...]:
    """The shards that nobody has brought; none if somebody has brought the whole."""
    shards = {header.shard for header in headers}
    counts = {shard.partition("/")[2] for shard in shards}
    if "" in shards or len(counts) > 1:
        return ()
    count = int(counts.pop())
    return tuple(each for number in range(1, count + 1) if (each := f"{number}/{count}") not in shards)


def _kept(sources: Sequence[Path]) -> dict[_Run, _Kept]:
    """Each run, whichever directory it is in."""
    found: dict[_Run, dict[Path, list[_Line]]] = {}
    for source in dict.fromkeys(sources):
        for record in all_records(source):
            of_run = found.setdefault((record.cell, record.trial), {})
            of_run.setdefault(source, []).append(_Line.of(record))
    return {run: _joined(by_source) for run, by_source in found.items()}


def _joined(found: Mapping[Path, Sequence[_Line]]) -> _Kept:
    """The records of one run in several directories.

    :raises ResultsError: if they are not of the same run
    """
    last = {source: lines[-1] for source, lines in found.items()}
    ended = {source: line for source, line in last.items() if not line.void}
    source, counting = min((ended or last).items(), key=lambda item: (item[1].text, item[0]))
    for other_source, other in last.items():
        if other.key != counting.key:
            raise ResultsError(
                _conflict("was configured in another way", source, counting, other_source, other)
            )
        if other_source in ended and other.text != counting.text:
            raise ResultsError(_conflict("is another run", source, counting, other_source, other))
        if other.text == counting.text:
            _check_recordings(source, other_source, counting.cassette)
    every = {line.text: line for lines in found.values() for line in lines if line.text != counting.text}
    earlier = (every[text] for text in sorted(every))
    return _Kept((*earlier, counting), source, len(found), len(last) - len(ended) if ended else 0)


def _check_recordings(source: Path, other: Path, name: str) -> None:
    if name and recording_bytes(source, name) != recording_bytes(other, name):
        raise ResultsError(
            f"{source / name} and {other / name} are recordings of the same run, and differ; "
            "keep the right one"
        )


_SHOWN: Final = 5


def _conflict(what: str, source: Path, one: _Line, other_source: Path, other: _Line) -> str:
    """Both sides of a disagreement, in words."""
    record = record_of(one.text)
    run = f"{record.cell.model}, {record.cell.strategy}, {record.cell.scenario}, trial {record.trial}"
    changes = configuration_differences(one.text, other.text)
    more = (f"and {len(changes) - _SHOWN} more",) if len(changes) > _SHOWN else ()
    lines = (f"{run} {what} in {other_source} than in {source}:", *changes[:_SHOWN], *more)
    return "\n  ".join(lines) + "\nleave one of the directories out, or remove one of the two runs"


def _ordered(plan: EvalPlan, kept: Mapping[_Run, _Kept]) -> list[_Kept]:
    """In the order of the plan; runs that it does not ask for come last."""
    rest = dict(kept)
    planned = [rest.pop((sample.cell, sample.trial), None) for sample in plan.samples()]
    return [*(one for one in planned if one), *(rest[run] for run in sorted(rest, key=_sortable))]


def _sortable(run: _Run) -> tuple[str, ...]:
    cell, trial = run
    return (*cell.task, cell.scenario, f"{trial:09}")
