"""Summaries of an evaluation: its records folded into cells and tasks, with counts, usage and percentiles.

The result does not depend on the order of the records. Only a short entry of each run and sums of its usage
are kept, so that thousands of runs fit into memory.

Percentiles are not interpolated: each is a measured value. The two functions differ where ``percent`` of the
values is a whole number: of twenty values, the 95th percentile by nearest rank is the 19th, while the
reference takes the 20th, which is the maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import add, attrgetter
from typing import Final, TypeVar, get_args

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core.evals._plan.accepted_voids import AcceptedVoids
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._records.record import Record, SentRequest
from toolreel_core.evals._verdicts import Result


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """Counts of runs by result.

    A run is *ok* if it passed, exercised or not, as the reference harness counts; it is *valid* if it is
    neither void nor unsupported. Rates are of valid runs; the coverage is the share of runs that are valid.
    """

    passed: int = 0
    unexercised: int = 0
    """Right, but the hard part was skipped."""
    failed: int = 0
    unsupported: int = 0
    void: int = 0

    @classmethod
    def of(cls, results: Iterable[Result]) -> ResultCounts:
        """The counts of some results.

        >>> ResultCounts.of(["pass", "fail", "void"]).rate
        0.5
        """
        found = Counter(results)
        return cls(*(found[result] for result in get_args(Result)))

    @property
    def runs(self) -> int:
        """All of them."""
        return self.valid + self.unsupported + self.void

    @property
    def ok(self) -> int:
        """Those that passed, exercised or not."""
        return self.passed + self.unexercised

    @property
    def valid(self) -> int:
        """Those that say something about the model."""
        return self.ok + self.failed

    @property
    def rate(self) -> float | None:
        """The share of valid runs that are ok, from 0 to 1; ``None`` if none is valid."""
        return self.ok / self.valid if self.valid else None

    @property
    def coverage(self) -> float | None:
        """The share of runs that are valid, from 0 to 1; ``None`` if there is none."""
        return self.valid / self.runs if self.runs else None

    def __add__(self, other: ResultCounts) -> ResultCounts:
        return ResultCounts(*map(add, _counts(self), _counts(other)))

    def tree(self) -> dict[str, Json]:
        """All of it, for a summary."""
        return {
            "runs": self.runs,
            "ok": self.ok,
            "pass": self.passed,
            "pass_unexercised": self.unexercised,
            "fail": self.failed,
            "unsupported": self.unsupported,
            "void": self.void,
            "valid": self.valid,
            "rate": self.rate,
            "coverage": self.coverage,
        }


# Added up for every run: `astuple` copies deeply and takes 20 times as long.
_counts: Final = attrgetter(*ResultCounts.__dataclass_fields__)

_NANO: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """What some runs have used; sums of whole numbers, so that their order plays no part."""

    requests: int = 0
    turns: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    nanos: int = 0
    """Known cost in billionths of the provider's currency."""
    unpriced: int = 0
    """Answered requests without a reported cost."""

    @property
    def cost(self) -> float | None:
        """In the provider's currency; ``None`` if the cost of a request is not known."""
        return None if self.unpriced else self.nanos / _NANO

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, _uses(self), _uses(other)))

    def tree(self) -> dict[str, Json]:
        """All of it, for a summary."""
        return {
            "requests": self.requests,
            "turns": self.turns,
            "tool_calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "cost": self.cost,
            "known_cost": self.nanos / _NANO,
        }


_uses: Final = attrgetter(*Usage.__dataclass_fields__)


def usage_of(record: Record) -> Usage:
    """What a run has used, all its attempts together."""
    asked = [each for attempt in record.attempts for each in attempt.asked]
    return sum(map(_usage, asked), start=Usage(turns=record.turns, calls=record.calls))


def _usage(asked: SentRequest) -> Usage:
    return Usage(
        requests=1,
        prompt_tokens=asked.prompt_tokens,
        completion_tokens=asked.completion_tokens,
        reasoning_tokens=asked.reasoning_tokens,
        nanos=round((asked.cost or 0.0) * _NANO),
        unpriced=int(asked.cost is None and not asked.failure),
    )


Number = TypeVar("Number", int, float)


def nearest_rank(values: Iterable[Number], percent: int) -> Number | None:
    """The nearest-rank percentile: the smallest value that is at least ``percent`` % of the values.

    It is the element of rank ``ceil(n * percent / 100)``, counted from 1, of the sorted values; ``None`` if
    there are no values.

    >>> nearest_rank(range(1, 21), 95)
    19
    >>> nearest_rank([], 95) is None
    True

    :param percent: 1 to 100
    """
    _check(percent)
    ordered = sorted(values)
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None


def reference_percentile(values: Iterable[int], percent: int) -> int:
    """The percentile as the reference harness computes it; 0 if there are no values.

    It is the element at ``floor(n * percent / 100)``, counted from 0, of the sorted values, or the last.

    >>> reference_percentile(range(1, 21), 50), reference_percentile(range(1, 21), 95)
    (11, 20)

    :param percent: 1 to 100
    """
    _check(percent)
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)] if ordered else 0


def _check(percent: int) -> None:
    # A share such as 0.95 would pick the smallest value, and nobody would notice.
    if not 1 <= percent <= 100:
        raise ConfigError(f"percent: expected a whole number from 1 to 100, got {percent!r}")


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
    text_calls: bool
    """Whether calls were to be read from text."""
    digest: str
    """Of the effective configuration."""
    cassette: str

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
        summed = gathered[cell].summed(cell, planned.get(cell, range(0)), control=cell.scenario in plain)
        tasks.setdefault(cell.task, []).append(summed)
    rows = tuple(TaskSummary(tuple(cells)) for cells in tasks.values())
    there = sum(len(cell.asked) for row in rows for cell in row.cells)
    return Summary(rows, sum(map(len, planned.values())) - there, accepted_voids)


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
                if asked.model:
                    self.served.add(f"{asked.model} at {asked.provider}" if asked.provider else asked.model)

    def summed(self, cell: Cell, planned: range, *, control: bool) -> CellSummary:
        entries = sorted(self.entries, key=lambda entry: (entry.trial, entry.key))
        served, servers = tuple(sorted(self.served)), tuple(sorted(self.servers))
        return CellSummary(cell, control, tuple(entries), self.usage, served, servers, planned)


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
        text_calls='"text_dialects":[]' not in record.configuration,
        digest=record.digest,
        cassette=record.cassette,
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
