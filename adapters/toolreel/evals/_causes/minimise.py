"""Minimise a failing run: the smallest prompt and tool surface that still fails, asked of the endpoint.

Models are random, so a smaller prompt counts as failing if it fails in several of some tries, in the way in
which the run failed: by the same category, and with calls if the run made any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import httpx

from toolreel._internal.errors import ResultsError
from toolreel.evals._runner.connection import Connection, RunRecorder
from toolreel.evals._runner.evaluation import recorded_job
from toolreel.evals._runner.trial import Job, run_job
from toolreel.evals._store.recordings import RecordingFiles
from toolreel_core._errors import ConfigError
from toolreel_core.evals._causes.conversation_parts import Part, askable, parts_of, smaller_scenario, without
from toolreel_core.evals._causes.delta_debugging import Answer, answered, halving
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.catalogue import kind_of


@dataclass(frozen=True, slots=True)
class Search:
    """How a smaller prompt is searched.

    :raises ConfigError: if the numbers contradict each other
    """

    budget: int
    """Requests that may be sent."""
    repeats: int = 3
    """Tries of each smaller prompt."""
    failing: int = 2
    """Tries that have to fail."""
    any_failure: bool = False
    """Whether any failure will do, and not only the one of the run."""
    keep: tuple[str, ...] = ()
    """Parts whose name or text has one of these in it stay."""

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise ConfigError(f"--budget: expected at least 1 request, got {self.budget}")
        if not 1 <= self.failing <= self.repeats:
            raise ConfigError(
                f"--failing: expected 1 to --repeats ({self.repeats}), got {self.failing}; "
                "it is how many of the tries have to fail"
            )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is."""

    requests: int
    parts: int
    """Parts that are left."""
    tries: int


@dataclass(frozen=True, slots=True)
class Minimised:
    """The smallest prompt that was found."""

    kept: tuple[Part, ...]
    removed: tuple[Part, ...]
    record: Record
    """Its last failing try; the cassette is relative to the folder of the search."""
    requests: int
    tries: int
    stopped: str = ""
    """Why the search ended early; empty if no single part can be left out."""


class _BudgetUsedUp(Exception):
    """No further request may be sent."""


def minimise(
    plan: EvalPlan,
    record: Record,
    search: Search,
    connection: Connection,
    folder: Path,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Minimised:
    """Leave out parts of a failed run's prompt and tools for as long as it fails.

    Ctrl-C ends the search like a budget that is used up: with the smallest prompt that was found so far.

    :param folder: where recordings go
    :raises ResultsError: if the run is no failure of a model, or does not fail again
    """
    if record.verdict.result != "fail":
        result = record.verdict.result
        raise ResultsError(
            f"the run {record.key[:12]} is {result}, not a failure, so there is nothing to minimise"
        )
    if kind_of(record.cell.model):
        raise ResultsError(
            f"{record.cell.model} is a script of this program, whose prompt makes no difference; "
            "name the run of a model that is asked over HTTP"
        )
    asking = _Asking(plan, record, search, connection, folder, progress)
    return asking.minimised()


class _Asking:
    """The state of a search: what was found so far, and what it has cost."""

    def __init__(
        self,
        plan: EvalPlan,
        record: Record,
        search: Search,
        connection: Connection,
        folder: Path,
        progress: Callable[[Progress], None],
    ) -> None:
        self._record, self._search, self._progress = record, search, progress
        self._job = recorded_job(plan, record)
        self._parts = parts_of(self._job.case)
        self._network = _Counted(connection.network, search.budget)
        self._recorder = RunRecorder(replace(connection, network=self._network), RecordingFiles(folder))
        self._removed: frozenset[str] = frozenset()
        self._found: Record | None = None
        self._tries = 0

    def minimised(self) -> Minimised:
        """Search from coarse to fine: lines and tools, then what is inside of the tools that are left."""
        stopped = ""
        try:
            if self._fails(frozenset()) != "yes":
                raise ResultsError(
                    f"the run {self._record.key[:12]} does not fail again in {self._search.failing} of "
                    f"{self._search.repeats} tries; raise --repeats, or lower --failing"
                )
            for level in (0, 1, 2):
                answered(halving(self._removable(level)), partial(self._without_others, level))
        except _BudgetUsedUp:
            stopped = f"the budget of {self._search.budget} requests is used up"
        except KeyboardInterrupt:
            stopped = "it was interrupted"
        if self._found is None:
            raise ResultsError(f"{stopped} before the run has failed again; raise --budget")
        return Minimised(
            tuple(part for part in self._parts if not self._is_gone(part)),
            tuple(part for part in self._parts if self._is_gone(part)),
            *(self._found, self._network.count, self._tries, stopped),
        )

    def _removable(self, level: int) -> tuple[Part, ...]:
        """The parts of one level that are left and may go."""
        return tuple(
            part
            for part in self._parts
            if self._depth(part) == level and not self._is_gone(part) and not self._is_kept(part)
        )

    def _depth(self, part: Part) -> int:
        return 0 if not part.inside else 1 + self._depth(self._named(part.inside))

    def _named(self, name: str) -> Part:
        return next(part for part in self._parts if part.name == name)

    def _is_gone(self, part: Part) -> bool:
        inside = bool(part.inside) and self._is_gone(self._named(part.inside))
        return part.name in self._removed or inside

    def _is_kept(self, part: Part) -> bool:
        """Whether it stays by the caller's wish; what is around a part that stays, stays too."""
        wished = any(word in part.name or word in part.text for word in self._search.keep)
        return wished or any(self._is_kept(inner) for inner in self._parts if inner.inside == part.name)

    def _without_others(self, level: int, some: Collection[Part]) -> Answer:
        """Whether it still fails with only these of a level's parts."""
        removed = self._removed | {part.name for part in self._removable(level) if part not in some}
        return self._fails(removed)

    def _fails(self, removed: frozenset[str]) -> Answer:
        """Try a smaller prompt as often as it takes; if it fails, it is the best so far."""
        smaller = replace(self._job, scenario=smaller_scenario(self._job.scenario, removed))
        if not askable(without(self._job.case, removed)):
            return "no"
        failing, passing, last = 0, 0, None
        while failing < self._search.failing and passing <= self._search.repeats - self._search.failing:
            record = self._tried(smaller, failing + passing)
            if record is not None and self._is_same(record):
                failing, last = failing + 1, record
            else:
                passing += 1
        if last is None or failing < self._search.failing:
            return "no"
        self._removed, self._found = removed, last
        self._progress(self._standing())
        return "yes"

    def _tried(self, job: Job, number: int) -> Record | None:
        """One try; each has a trial of its own, so that what is drawn from the seed varies."""
        self._tries += 1
        self._progress(self._standing())
        sample = replace(job.sample, trial=job.sample.trial + number)
        job = replace(job, sample=sample)
        try:
            with self._recorder.context(job, f"try-{self._tries}.yaml") as (context, saved):
                return replace(run_job(job, context), cassette=saved())
        except ConfigError:
            return None  # such as tools that must be called, and of which none is left

    def _is_same(self, record: Record) -> bool:
        verdict, wanted = record.verdict, self._record.verdict
        if verdict.result != "fail" or self._search.any_failure:
            return verdict.result == "fail"
        return verdict.category == wanted.category and bool(record.calls) is bool(self._record.calls)

    def _standing(self) -> Progress:
        left = sum(not self._is_gone(part) for part in self._parts)
        return Progress(self._network.count, left, self._tries)


class _Counted(httpx.BaseTransport):
    """Passes requests on until the budget is used up."""

    def __init__(self, inner: httpx.BaseTransport, budget: int) -> None:
        self._inner, self._budget = inner, budget
        self.count = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.count >= self._budget:
            raise _BudgetUsedUp
        self.count += 1
        return self._inner.handle_request(request)


def shown_parts(parts: Sequence[Part]) -> tuple[tuple[str, str], ...]:
    """Name and text of each part."""
    return tuple((part.name, part.text) for part in parts)
