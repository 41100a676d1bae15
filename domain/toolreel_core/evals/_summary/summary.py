"""Summaries of an evaluation: its records folded into cells and tasks.

The result does not depend on the order of the records. Only a short entry of each run and sums of its usage
are kept, so that thousands of runs fit into memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from toolreel_core.evals._plan.accepted_voids import AcceptedVoids
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._records.record import JudgedCheck, Record
from toolreel_core.evals._summary.totals import ResultCounts, Usage, usage_of
from toolreel_core.evals._verdicts.verdict import Result


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run in the index."""

    cell: Cell
    trial: int
    key: str
    result: Result
    category: str
    reason: str
    """The first reason; empty for a pass."""
    hint: str
    """A router's hint about the error."""
    status: int | None
    ms: int
    """Of all attempts."""
    last_ms: int
    """Of the last attempt."""
    attempts: int
    after_silence: bool
    """Whether an attempt before the last ended in an empty text, so that the model was asked again."""
    language_shape: str
    text_calls: bool
    """Whether calls were to be read from text."""
    digest: str
    """Of the effective configuration."""
    cassette: str
    judged: tuple[JudgedCheck, ...] = ()
    """What judges said of it."""

    @property
    def ok(self) -> bool:
        """Whether it passed, exercised or not."""
        return self.result in {"pass", "pass_unexercised"}

    @property
    def error(self) -> str:
        """What is wrong, as one line; empty for a pass."""
        return ": ".join(filter(None, (self.category, self.reason)))


@dataclass(frozen=True, slots=True)
class CellSummary:
    """All trials of one cell."""

    cell: Cell
    control: bool
    """Whether it is a plain conversation, which is counted apart."""
    entries: tuple[RunEntry, ...]
    """By trial."""
    usage: Usage
    served: tuple[str, ...]
    """Who answered, as ``model`` or ``model at provider``, in the order of their names."""
    servers: tuple[str, ...] = ()
    """Where its runs were made, as base URLs; none of scripts."""
    planned: range = range(0)
    """Trials that the plan asks for; others are in the figures, and fill no gap."""

    @property
    def asked(self) -> tuple[RunEntry, ...]:
        """The runs that the plan asks for."""
        return tuple(entry for entry in self.entries if entry.trial in self.planned)

    @property
    def counts(self) -> ResultCounts:
        """How they went."""
        return ResultCounts.of(entry.result for entry in self.entries)

    @property
    def ok_after_silence(self) -> int:
        """How many runs passed only after an attempt that ended in an empty text."""
        return sum(entry.ok and entry.after_silence for entry in self.entries)

    @property
    def categories(self) -> Mapping[str, int]:
        """Number of runs by failure category."""
        found = Counter(entry.category for entry in self.entries if entry.category)
        return dict(sorted(found.items()))

    @property
    def digests(self) -> tuple[str, ...]:
        """Of the configurations that its runs had; more than one is a warning."""
        return tuple(sorted({entry.digest for entry in self.entries}))


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """All cells of one task: one row of the table."""

    cells: tuple[CellSummary, ...]
    """In the order of the scenarios."""

    @property
    def cell(self) -> Cell:
        """One of its cells, for all but the scenario."""
        return self.cells[0].cell

    def counts(self, *, control: bool | None = None) -> ResultCounts:
        """How its runs went: all of them, or only those of controls, or only the others."""
        wanted = (cell.counts for cell in self.cells if control is None or cell.control is control)
        return sum(wanted, start=ResultCounts())

    def entries(self, *, control: bool | None = None) -> tuple[RunEntry, ...]:
        """Its runs, in the order in which a plan has them: trial by trial, scenario by scenario."""
        cells = [cell for cell in self.cells if control is None or cell.control is control]
        runs = [(entry.trial, place, entry) for place, cell in enumerate(cells) for entry in cell.entries]
        return tuple(entry for _, _, entry in sorted(runs, key=lambda run: run[:2]))

    @property
    def usage(self) -> Usage:
        """What its runs have used."""
        return sum((cell.usage for cell in self.cells), start=Usage())


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of an evaluation."""

    tasks: tuple[TaskSummary, ...]
    """In the order of the plan."""
    missing: int
    """Runs that the plan asks for, and that have not ended."""
    accepted_voids: AcceptedVoids = field(default_factory=AcceptedVoids)
    """The void runs that it may end with."""

    @property
    def cells(self) -> tuple[CellSummary, ...]:
        """All cells, task by task."""
        return tuple(cell for task in self.tasks for cell in task.cells)

    @property
    def complete(self) -> bool:
        """Whether no run is missing, and none is void, except for as many as are accepted."""
        return not self.missing and not self._to_repeat and self.covered

    @property
    def incompleteness(self) -> str:
        """What is missing, in a sentence; empty if nothing is."""
        void = self._to_repeat
        if self.complete:
            return ""
        if not self.missing and not void:
            return "Incomplete: too many runs are void and accepted; lower min_coverage, or repeat them."
        return (
            f"Incomplete (runs not made: {self.missing}, void: {void}); "
            "`toolreel eval run` with the same plan and directory continues."
        )

    @property
    def acceptance(self) -> str:
        """How many void runs are accepted, in a sentence; empty where none is to be."""
        return self.accepted_voids.sentence(self.accepted, self.required_runs)

    @property
    def covered(self) -> bool:
        """Whether enough runs are not void and accepted."""
        return self.accepted_voids.suffice(self.accepted, self.required_runs)

    @property
    def void(self) -> int:
        """Void runs, accepted or not."""
        return sum(cell.counts.void for cell in self.cells)

    @property
    def accepted(self) -> int:
        """Void runs that the plan asks for, and that are accepted."""
        return sum(map(self.accepts, self._asked))

    @property
    def required_runs(self) -> int:
        """All runs that the plan asks for, made or missing."""
        return self.missing + len(self._asked)

    @property
    def _asked(self) -> tuple[RunEntry, ...]:
        return tuple(entry for cell in self.cells for entry in cell.asked)

    @property
    def _to_repeat(self) -> int:
        """Void runs that the plan asks for, and that are not accepted."""
        return sum(entry.result == "void" for entry in self._asked) - self.accepted

    def accepts(self, entry: RunEntry) -> bool:
        """Whether a run is void and accepted."""
        return self.accepted_voids.includes(entry.result, entry.category)

    def counts(self, *, control: bool | None = None) -> ResultCounts:
        """How all runs went; see :meth:`TaskSummary.counts`."""
        return sum((task.counts(control=control) for task in self.tasks), start=ResultCounts())

    def needing(self, planned: Mapping[Cell, range]) -> Summary:
        """The same runs, where the cells need these trials; so of a plan that has stopped some early."""
        tasks = tuple(
            TaskSummary(tuple(replace(one, planned=planned.get(one.cell, range(0))) for one in task.cells))
            for task in self.tasks
        )
        there = sum(len(cell.asked) for task in tasks for cell in task.cells)
        return replace(self, tasks=tasks, missing=sum(map(len, planned.values())) - there)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for readers of the figures."""
        return tuple(warning for cell in self.cells for warning in _warnings(cell))


_NONE: Final = AcceptedVoids()


def summarise(
    records: Iterable[Record],
    planned: Mapping[Cell, range],
    controls: Iterable[str],
    accepted_voids: AcceptedVoids = _NONE,
) -> Summary:
    """Sum up the records of an evaluation.

    A run is missing if no record is of its cell and trial: what another cell has too much fills no gap.

    :param records: one of each run, in any order
    :param planned: the cells of the plan, in its order, each with the trials that it needs; what it does
        not ask for comes after, by name
    """
    places = {cell: place for place, cell in enumerate(planned)}
    gathered: dict[Cell, _Gathered] = {}
    for record in records:
        gathered.setdefault(record.cell, _Gathered()).add(record)
    plain = frozenset(controls)
    last = len(places)
    names = sorted(gathered, key=lambda cell: (places.get(cell, last), *cell.task, cell.scenario))
    tasks: dict[tuple[str, ...], list[CellSummary]] = {}
    for cell in names:
        summed = gathered[cell].summed(cell, control=cell.scenario in plain)
        tasks.setdefault(cell.task, []).append(summed)
    rows = tuple(TaskSummary(tuple(cells)) for cells in tasks.values())
    return Summary(rows, 0, accepted_voids).needing(planned)


class _Gathered:
    """Accumulates the runs of one cell."""

    def __init__(self) -> None:
        self.entries: list[RunEntry] = []
        self.usage = Usage()
        self.served: set[str] = set()
        self.servers: set[str] = set()

    def add(self, record: Record) -> None:
        self.entries.append(_entry(record))
        self.usage += usage_of(record)
        if server := record.attempts[-1].base_url:
            self.servers.add(server)
        for attempt in record.attempts:
            for asked in attempt.asked:
                if asked.model and not asked.role:
                    self.served.add(f"{asked.model} at {asked.provider}" if asked.provider else asked.model)

    def summed(self, cell: Cell, *, control: bool) -> CellSummary:
        entries = sorted(self.entries, key=lambda entry: (entry.trial, entry.key))
        served, servers = tuple(sorted(self.served)), tuple(sorted(self.servers))
        return CellSummary(cell, control, tuple(entries), self.usage, served, servers)


def _entry(record: Record) -> RunEntry:
    return RunEntry(
        cell=record.cell,
        trial=record.trial,
        key=record.key,
        result=record.verdict.result,
        category=record.verdict.category,
        reason=next(iter(record.verdict.reasons), ""),
        hint=record.error_hint,
        status=record.error_status,
        ms=record.ms,
        last_ms=record.attempts[-1].ms,
        attempts=len(record.attempts),
        # Only two things are tried again: what the provider failed, and an empty text.
        after_silence=any(attempt.verdict.result == "fail" for attempt in record.attempts[:-1]),
        language_shape=record.language_shape,
        text_calls='"text_dialects":[]' not in record.configuration,
        digest=record.digest,
        cassette=record.cassette,
        judged=record.judged,
    )


def _warnings(cell: CellSummary) -> Iterable[str]:
    name = ", ".join(
        filter(None, (cell.cell.model, cell.cell.strategy, cell.cell.endpoint, cell.cell.scenario))
    )
    if len(cell.servers) > 1:
        yield f"{name}: its runs were made at {len(cell.servers)} servers: {', '.join(cell.servers)}"
    if len(cell.served) > 1:
        yield f"{name}: not always the same model answered: {', '.join(cell.served)}"
    if len(cell.digests) > 1:
        yield f"{name}: its runs were made under {len(cell.digests)} configurations; run them again"
