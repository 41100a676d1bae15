"""Execute a plan within its budget: all runs that have not ended yet, each with its record and cassette."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from itertools import product, zip_longest
from pathlib import Path
from threading import Event
from typing import Final, Protocol, TypeVar, cast

from toolreel._internal import ResultsError
from toolreel._secrets import scrubbed_url
from toolreel.evals._configuration_differences import configuration_differences
from toolreel.evals._results import Header, Journal, Results, all_records, read_header, trials_in
from toolreel.evals._runner.connection import Connection, RunRecorder, connect, new_header
from toolreel.evals._runner.real_tools import check_served
from toolreel.evals._runner.spending import CostGuard, Spent
from toolreel.evals._runner.trial import Job, run_job
from toolreel_core._jsontext import Tree, canonical, tree_at
from toolreel_core.evals import (
    Cell,
    Configuration,
    EvalPlan,
    Record,
    Retries,
    Sample,
    Trial,
    check_cost_cap,
    incompleteness,
    kind_of,
)


def server_of(plan: EvalPlan, endpoint: str) -> str:
    """The base URL of an endpoint, without credentials."""
    return scrubbed_url(plan.endpoint_at(endpoint).base_url)


_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def ended_in_threads(
    jobs: Iterator[_Job], threads: int, run: Callable[[_Job], _Result], stop: Event
) -> Iterator[list[_Result]]:
    """Run jobs in a few threads; yield the results of all that have ended since.

    Jobs are taken one by one when a thread is free, so that a long plan is never in memory as a whole. What
    went wrong in a thread is raised once what had ended by then was yielded.

    :param stop: once it is set, no further job is begun; those under way still end
    """
    lock, working = threading.Lock(), threads
    ended: queue.SimpleQueue[tuple[_Result] | BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            while True:
                with lock:
                    job = None if stop.is_set() else next(jobs, None)
                if job is None:
                    break
                ended.put((run(job),))
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            ended.put(error)
        finally:
            ended.put(None)

    for _ in range(threads):
        threading.Thread(target=work, daemon=True).start()
    while working:
        found, error = list[_Result](), None
        while working and not ((found or error) and ended.empty()):
            one = ended.get()
            if one is None:
                working -= 1
            elif isinstance(one, tuple):
                found += one
            else:
                error = error or one
        if found:
            yield found
        if error:
            stop.set()
            raise error


_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
"""Characters that are replaced in file names."""


@dataclass(frozen=True, slots=True)
class ExistingRuns:
    """Runs of a plan that a directory already has."""

    ended: frozenset[str] = frozenset()
    """Keys of the runs that need not be repeated."""
    void: int = 0
    """Runs that the provider or a budget ended; they are repeated."""
    accepted: int = 0
    """Those that are not, because the plan accepts them; they are among the ended ones."""
    spent: Spent = field(default_factory=Spent)
    locations: Mapping[str, Set[str]] = field(default_factory=dict)
    """Where the ended runs of the plan were made: base URLs by the name of the endpoint."""


@dataclass(frozen=True, slots=True)
class EvaluationOutcome:
    """The outcome of one call of :func:`evaluate`."""

    plan: EvalPlan
    trials: tuple[Trial, ...]
    """All of them, made now or before, or missing."""
    made: int
    """Runs that were made this time."""
    stopped: str = ""
    """Why some were not made; empty if all were, or the caller stopped it."""
    without_cassette: tuple[str, ...] = ()
    """Why some runs were not recorded."""

    @property
    def left(self) -> int:
        """Runs that were not made."""
        return sum(one.outcome == "missing" for one in self.trials)

    @property
    def void(self) -> int:
        """Runs to be made again: void and not accepted, or without tools that other trials were given."""
        return sum(one.lacking for one in self.trials) - self.left

    @property
    def accepted(self) -> int:
        """Void runs that the plan accepts."""
        return sum(one.accepted for one in self.trials)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be done, and enough runs are not void."""
        return not incompleteness(self.trials, self.plan.options.min_coverage)


class Watcher(Protocol):
    """Receives the progress of an evaluation; called from one thread."""

    def found(self, found: ExistingRuns, /) -> None:
        """Called once, before the first run."""
        ...

    def ended(self, record: Record, /) -> None:
        """Called after each run, once its record is on the disk."""
        ...


def evaluate(
    plan: EvalPlan,
    out: Path | str,
    connection: Connection | None = None,
    header: Header | None = None,
    watcher: Watcher | None = None,
    stop: Event | None = None,
    *,
    cassettes: bool = True,
    accept_endpoint_change: bool = False,
) -> EvaluationOutcome:
    """Execute all runs of a plan that have not ended yet; call it again to resume.

    :param out: the directory of the results, new or from an earlier call with the same plan
    :param connection: how to reach the provider; made from the plan and the environment by default
    :param header: what is stored about this evaluation; plan, versions and the present time by default
    :param stop: once it is set, no further run is started; runs in flight are completed
    :param cassettes: whether to record each run
    :param accept_endpoint_change: whether to go on where an endpoint has another URL than before
    :raises ConfigError: if the cost is capped, and will not be known
    :raises ResultsError: if the directory cannot be used, or its runs have another configuration
    :raises EndpointConfigError: if the variable of the API key is not set
    :raises MissingExtra: if a scenario needs an extra that is not installed
    """
    check_cost_cap(plan)
    check_served(plan.scenarios)
    out = Path(out)
    header, stop = header or new_header(plan, datetime.now(UTC)), stop or Event()
    job_for = jobs_of(plan)
    made, since, prices = 0, time.monotonic(), plan.options.price
    with (
        nullcontext(connection) if connection else closing(connect(plan)) as opened,
        Journal(out, known_secrets=opened.secrets) as journal,
    ):
        recorder = RunRecorder(opened, out if cassettes else None)
        found = existing_runs(out, plan)
        guard = CostGuard(plan.budget, prices, stop, found.spent.cost)

        def run_one(job: Job) -> Record:
            cell, name = job.sample.cell, cassette_name(job.sample)
            with recorder.context(job, name) as (context, saved):
                record = run_job(job, replace(context, endpoint=guard.guarded(context.endpoint, cell)))
                server = "" if kind_of(cell.model) else server_of(plan, cell.endpoint)
                attempts = tuple(replace(each, base_url=server) for each in record.attempts)
                return replace(record, attempts=attempts, cassette=saved())

        for name, urls in () if accept_endpoint_change else found.locations.items():
            if others := sorted(urls - {now := server_of(plan, name)}):
                endpoint = f"the endpoint {name!r}" if name else "the endpoint"
                raise ResultsError(
                    f"{out}: {endpoint} was at {', '.join(others)} when its runs were made, and is at {now} "
                    "now; evaluate into another directory, give each server a table [endpoints.NAME], or go "
                    "on with --accept-endpoint-change if both are the same server"
                )
        journal.begin(header)
        if watcher:
            watcher.found(found)
        spent = found.spent
        if why := spent.over(plan.budget, 0):
            stop.set()
        jobs = (job_for(sample) for sample in _fair(plan) if sample.key not in found.ended)
        for ended in ended_in_threads(jobs, plan.options.jobs, run_one, stop):
            for record in journal.append(*ended):
                made += 1
                spent = spent.after(record, prices)
                if watcher:
                    watcher.ended(record)
                if not why and (why := spent.over(plan.budget, (time.monotonic() - since) / 60)):
                    stop.set()
    refused = tuple(map(str, recorder.refused))
    return EvaluationOutcome(plan, Results.open(out).trials(plan), made, why, refused)


def existing_runs(out: Path, plan: EvalPlan) -> ExistingRuns:
    """What a directory has of a plan.

    A directory belongs to one plan, which may grow: trials, models, strategies, scenarios and endpoints can
    be added. So no figure mixes two settings, and no gate is set after its runs.

    :raises ResultsError: if it belongs to another plan, with the keys that differ
    """
    samples = {(sample.cell, sample.trial): sample for sample in plan.samples()}
    latest, spent, prices = dict[tuple[Cell, int], Record](), Spent(), plan.options.price
    for record in all_records(out):
        spent = spent.after(record, prices)
        latest[record.cell, record.trial] = record
    if latest and (others := [*_departures(read_header(out / "header.json").plan, plan)]):
        raise ResultsError("\n  ".join((f"{out}: has runs of another plan:", *others)) + _ONE_PLAN)
    changed = [run for run, record in latest.items() if run in samples and samples[run].key != record.key]
    if changed:
        sample, record = samples[changed[0]], latest[changed[0]]
        cell, own = sample.cell, plan.scenario(sample.cell.scenario).from_file
        if sample.version != record.version and own:
            how = " from its scenario file, which has changed since"
        elif sample.version != record.version:
            how = f" as version {record.version} of its scenario, which is at version {sample.version} now"
        else:
            changes = configuration_differences(record.configuration, plan.configuration(cell).text)
            how = "\n  ".join((" under another configuration:", *changes))
        raise ResultsError(f"{out}: {cell.model}, {cell.strategy}, {cell.scenario} was run{how}{_ONE_PLAN}")
    kept = [record for run, record in latest.items() if run in samples]
    rows = [one for one in trials_in(kept, plan) if one.key]
    ended = [one for one in rows if not one.lacking]
    there: dict[str, set[str]] = {}
    for one in ended:
        if one.server:  # without credentials; nothing of a script, and of records of older versions
            there.setdefault(one.cell.endpoint, set()).add(one.server)
    return ExistingRuns(
        frozenset(one.key for one in ended),
        len(rows) - len(ended),
        sum(one.accepted for one in ended),
        spent,
        there,
    )


_ONE_PLAN: Final = "\na directory belongs to one plan, which may only grow; evaluate into another (--out)"


def _departures(before: Tree, plan: EvalPlan) -> Iterator[str]:
    """The keys by which a plan does not just add to the one of a directory."""
    after, options = plan.tree(), tree_at(before, "options")
    for axis in ("models", "strategies", "scenarios", "endpoints"):
        # A plan without names of endpoints has one without a name.
        was, now = ({*cast("Iterable[str]", tree.get(axis, ("",)))} for tree in (before, after))
        if gone := sorted(was - now):
            yield f"eval.{axis}: without {', '.join(gone)}"
    for model, names in tree_at(before, "models").items():
        now = {profile.name for profile in plan.profiles.get(model, ())}
        if now and (gone := sorted({*cast("Sequence[str]", names)} - now)):
            yield f"eval.profiles: {model} without {', '.join(gone)}"
    if (trials := cast("int", tree_at(options, "eval").get("trials", 1))) > plan.trials:
        yield f"eval.trials: {trials} -> {plan.trials}"
    if (gates := canonical(options.get("gate", []))) != plan.options.gates:
        yield f"gate: {gates} -> {plan.options.gates}"


def cassette_name(sample: Sample) -> str:
    """Where the recording of a run stands, relative to the directory of the results.

    The end of the name is the beginning of its key, so that a run under another configuration leaves the
    old recording as it is.
    """
    cell = sample.cell
    last = "__".join((cell.scenario, cell.profile, f"{sample.trial:02}"))
    where = [cell.endpoint] if cell.endpoint else []
    parts = (cell.model, cell.strategy, *where, f"{last}__{sample.key[:8]}")
    return "/".join(("cassettes", *(_UNFIT.sub("__", part) for part in parts))) + ".yaml"


def jobs_of(plan: EvalPlan) -> Callable[[Sample], Job]:
    """All that decides about each run of a plan; what a cell's runs have in common is made once."""
    configuration = cache(plan.configuration)
    return lambda sample: Job(
        sample, plan.scenario(sample.cell.scenario), configuration(sample.cell), _retries(plan)
    )


def recorded_job(plan: EvalPlan, record: Record) -> Job:
    """The same for a run that has ended, under the configuration that it had.

    :raises ConfigError: if its scenario is not in the plan, or its configuration not one of today's
    """
    sample = Sample(record.cell, record.trial, record.version, record.digest)
    configuration = Configuration.of(record.configuration)
    return Job(sample, plan.scenario(record.cell.scenario), configuration, _retries(plan))


def _retries(plan: EvalPlan) -> Retries:
    """How often a run is tried again."""
    return Retries(plan.options.empty_response_retries, plan.options.void_retries)


def _fair(plan: EvalPlan) -> Iterator[Sample]:
    """All samples, taken from each model at each endpoint in turn.

    None has to wait for the others, and what is compared between endpoints is run at nearly the same time.
    """
    for of_each in zip_longest(*(plan.samples(*one) for one in product(plan.models, plan.endpoints))):
        yield from filter(None, of_each)
