"""Execute a plan within its budget: all runs that have not ended yet, each with its record and cassette."""

from __future__ import annotations

import os
import platform
import queue
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from itertools import product, zip_longest
from math import inf
from pathlib import Path
from threading import Condition, Event
from typing import Protocol, TypeVar

from toolreel._driver import Clock, Endpoint, SystemClock
from toolreel._internal import CassetteError, MissingExtra, ResultsError, start_in_daemon_thread
from toolreel._secrets import api_key_if_secret, known_secrets, scrubbed_url
from toolreel.cassette import Session
from toolreel.evals._results import EvaluationJournal, Header, Results, all_records, read_header, trials_in
from toolreel.evals._runner.scenario_files import catalogue_digest
from toolreel.evals._runner.trial import (
    Job,
    Stopped,
    TrialContext,
    measure_request,
    real_tool_host_opener,
    run_job,
)
from toolreel.http import HttpEndpoint, headers_from_environment
from toolreel_core._jsontext import canonical, chained_digest, tree_at
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest
from toolreel_core.evals import (
    TAXONOMY,
    Cell,
    EvalPlan,
    Record,
    Sample,
    SentRequest,
    Trial,
    check_prices_for_cost_cap,
    incompleteness_sentence,
    request_cost,
    script_kind_of_model,
    tree_changes,
)

try:
    import httpx
except ImportError as error:
    raise MissingExtra.of("http", "httpx") from error


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach the servers of a plan, shared by all threads."""

    endpoints: Mapping[str, Callable[[Session], HttpEndpoint]] = field(repr=False)
    """What sends the requests of one run, recorded by its session, by the name of the plan's endpoint."""
    network: httpx.BaseTransport
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values by name that must not be written."""
    clock: Clock = field(default_factory=SystemClock)
    pause: Callable[[float], object] = time.sleep
    """Waits that many seconds before a run is tried again."""

    def close(self) -> None:
        """Close the connections."""
        self.network.close()


@dataclass(frozen=True, slots=True)
class _SharedTransport(httpx.BaseTransport):
    """Stays open when an endpoint closes it. Its headers are not secrets, and in no recording."""

    network: httpx.BaseTransport
    headers: Mapping[str, str]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers.update(self.headers)
        return self.network.handle_request(request)


def new_header(plan: EvalPlan, now: datetime) -> Header:
    """The header of an evaluation that begins now."""
    # Of all scenarios, presets, models and profiles that the plan could choose from.
    catalogue = (*plan.presets.presets, *plan.presets.models, *plan.presets.profiles)
    return Header(
        plan=plan.tree(),
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        versions={"python": platform.python_version()}
        | {name: version(name) for name in ("toolreel", "httpx", "jsonschema", "vcrpy")},
        catalogue=chained_digest("catalogue", catalogue_digest(), *map(repr, catalogue)),
        taxonomy=TAXONOMY,
        shard=str(plan.shard or ""),
    )


def connect(plan: EvalPlan, environ: Mapping[str, str] | None = None) -> Connection:
    """The way to a plan's endpoints, for as many threads as it has jobs.

    :param environ: environment that holds the key; by default that of this process
    :raises EndpointConfigError: if the variable of the key or a header is not set, and not all models are
        scripts
    """
    environ = os.environ if environ is None else environ
    asks = not all(map(script_kind_of_model, plan.models))
    limits = httpx.Limits(max_connections=plan.options.jobs, max_keepalive_connections=plan.options.jobs)
    network, secrets = httpx.HTTPTransport(limits=limits), known_secrets(environ)
    endpoints = dict[str, Callable[[Session], HttpEndpoint]]()
    for name, each in plan.endpoints.items():
        variables = dict(each.headers_env) if asks else {}
        shared = _SharedTransport(network, dict(each.headers))
        endpoint = partial(
            HttpEndpoint,
            each.chat_url,
            api_key_env=each.api_key_env if asks and each.api_key_env else None,
            headers=headers_from_environment(variables, environ),
            api_key_header=each.api_key_header,
            timeout=httpx.Timeout(
                each.timeout or None, connect=each.open_timeout or None, read=each.read_timeout or None
            ),
            environ=environ,
        )
        endpoint(transport=shared)  # says at once what is wrong
        for variable in (each.api_key_env, *variables.values()):
            secrets |= api_key_if_secret(variable, environ.get(variable, ""))
        endpoints[name] = partial(_endpoint_over_session, endpoint, shared)
    return Connection(endpoints, network, secrets)


def _endpoint_over_session(
    endpoint: Callable[..., HttpEndpoint], shared: httpx.BaseTransport, session: Session
) -> HttpEndpoint:
    return endpoint(transport=session.transport(shared))


class Spending:
    """What all attempts of all runs have cost, void ones too; scripts cost nothing.

    It keeps the cost below its cap, reserving what is in flight by its estimate: a request waits while its
    estimate does not fit beside those in flight, so that the cap is exceeded by one reply at most. None goes
    out, of any run, once the cap is reached, or a reply has come whose cost is not known.
    """

    def __init__(self, plan: EvalPlan, stop: Event) -> None:
        self.tokens = 0
        """Of prompts and completions, as far as the provider counted them."""
        self.cost = 0.0
        """In the provider's currency: as reported, or else by the plan's prices."""
        self._unpriced = 0
        """Answered requests whose cost is neither."""
        self._budget, self._price, self._stop = plan.budget, plan.options.price, stop
        self._since = time.monotonic()
        self._held, self._flying = 0.0, 0
        self._largest = 0.0
        """Of the replies so far: what one is taken to cost that has no price."""
        self._changed = Condition()

    def count_request(self, asked: SentRequest, cell: Cell) -> None:
        with self._changed:
            self.tokens += asked.prompt_tokens + asked.completion_tokens
            cost = request_cost(asked, self._price(cell.model, cell.endpoint))
            self._unpriced += cost is None
            self.cost += cost or 0.0
            self._largest = max(self._largest, cost or 0.0)
            if self.reached_cap_sentence():
                self._stop.set()

    def reached_cap_sentence(self) -> str:
        """Which cap has been reached or cannot be kept, in words; empty if none."""
        budget = self._budget
        if self._unpriced and budget.max_cost is not None:
            remedy = (
                'give the model a price in [prices."MODEL"], or leave out budget.max_cost if the server '
                "counts no tokens"
            )
            return f"the cost of {self._unpriced} requests is unknown; {remedy}"
        caps = (
            ("cost", self.cost, budget.max_cost),
            ("tokens", self.tokens, budget.max_tokens),
            ("minutes", (time.monotonic() - self._since) / 60, budget.max_minutes),
        )
        for name, used, cap in caps:
            if cap is not None and used >= cap:
                return f"the budget is used up: {used:.6g} of {cap:g} {name}"
        return ""

    def send(self, endpoint: Endpoint, cell: Cell, effect: SendRequest) -> ReplyReceived | RequestFailed:
        estimate = None
        if price := self._price(cell.model, cell.endpoint):
            request = effect.request
            estimate = price.cost(len(request.body) / _BYTES, request.options.output_cap or _COMPLETION)
        reserved = self._reserve_cost(estimate)
        try:
            event = endpoint.send(effect)
            self.count_request(measure_request(effect, event), cell)
            return event
        finally:
            with self._changed:
                self._held -= reserved
                self._flying -= 1
                self._changed.notify_all()

    def _reserve_cost(self, estimate: float | None) -> float:
        cap = inf if self._budget.max_cost is None else self._budget.max_cost
        with self._changed:
            while True:
                if cap < inf and (self._unpriced or self.cost >= cap):
                    raise Stopped(self.reached_cap_sentence())
                left = cap - self.cost - self._held
                # As long as nothing has come, a reply without a price may cost anything.
                wanted = estimate if estimate is not None else self._largest or inf
                # One may always go: an estimate above the whole cap would wait for ever.
                if wanted <= left or not self._flying:
                    reserved = min(wanted, max(left, 0.0)) if cap < inf else 0.0
                    self._held += reserved
                    self._flying += 1
                    return reserved
                self._changed.wait()


_BYTES = 3
"""Of a token: few, so that estimates are high."""
_COMPLETION = 1_000
"""Estimated tokens of a reply that nothing limits."""


def scrubbed_base_url(plan: EvalPlan, endpoint: str) -> str:
    return scrubbed_url(plan.endpoint_at(endpoint).base_url)


_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def run_in_threads(
    jobs: Iterator[_Job], threads: int, run: Callable[[_Job], _Result], stop: Event
) -> Iterator[_Result]:
    """The result of each job when it has ended; what goes wrong in a thread is raised in its turn.

    :param stop: once it is set, no further job is begun; those under way still end
    """
    ended = queue.SimpleQueue[Future[_Result]]()
    free = threads
    while True:
        while free and not stop.is_set() and (job := next(jobs, None)) is not None:
            start_in_daemon_thread("trial", partial(run, job)).add_done_callback(ended.put)
            free -= 1
        if free == threads:
            return
        try:
            # A signal that comes just before a wait without end does not wake it, and Ctrl-C would be lost.
            done = ended.get(timeout=_WAKING_S)
        except queue.Empty:
            continue
        free += 1
        yield done.result()


_WAKING_S = 0.5
"""Seconds after which the thread that waits for runs answers signals, whatever happens."""


@dataclass(frozen=True, slots=True)
class ExistingRuns:
    """Runs of a plan that a directory already has."""

    ended: frozenset[str]
    """Keys of the runs that need not be repeated."""
    void: int
    """Runs that the provider or a budget ended; they are repeated."""
    spending: Spending
    """What all runs have cost; it goes on counting."""


@dataclass(frozen=True, slots=True)
class EvaluationOutcome:
    """The outcome of one call of :func:`evaluate`."""

    plan: EvalPlan
    trials: tuple[Trial, ...]
    """All of them, made now or before, or missing."""
    made: int
    stopped: str = ""
    """Why some were not made; empty if all were, or the caller stopped it."""
    without_cassette: tuple[str, ...] = ()

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
        return not incompleteness_sentence(self.trials, self.plan.options.min_coverage)


class Watcher(Protocol):
    """Receives the progress of an evaluation; called from one thread."""

    def runs_found(self, found: ExistingRuns, /) -> None:
        """Called once, before the first run."""
        ...

    def run_ended(self, record: Record, /) -> None:
        """Called after each run, once its record is on the disk."""
        ...


def evaluate(
    plan: EvalPlan,
    out: Path | str,
    connection: Connection | None = None,
    header: Header | None = None,
    watcher: Watcher | None = None,
    stop: Event | None = None,
) -> EvaluationOutcome:
    """Execute all runs of a plan that have not ended yet; call it again to resume.

    :param out: the directory of the results, new or from an earlier call with the same plan
    :param connection: how to reach the provider; made from the plan and the environment by default
    :param header: what is stored about this evaluation; plan, versions and the present time by default
    :param stop: once it is set, no further run is started; runs in flight are completed
    :raises ConfigError: if the cost is capped, and will not be known
    :raises ResultsError: if the directory cannot be used, or its runs have another configuration
    :raises EndpointConfigError: if the variable of the API key is not set
    """
    check_prices_for_cost_cap(plan)
    out = Path(out)
    header, stop = header or new_header(plan, datetime.now(UTC)), stop or Event()
    job_for = job_factory(plan)
    made, refused, spending = 0, list[str](), Spending(plan, stop)
    with (
        nullcontext(connection) if connection else closing(connect(plan)) as opened,
        EvaluationJournal(out, known_secrets=opened.secrets) as journal,
    ):
        found = existing_runs(out, plan, spending)

        def run_one(job: Job) -> Record:
            cell, tools = job.sample.cell, real_tool_host_opener(job.scenario, job.case)
            if script := job.script:
                return run_job(job, TrialContext(script.send, tools, opened.clock))[0]
            name = cassette_name(job.sample)
            session = Session(out / name, "record")
            with opened.endpoints[cell.endpoint](session) as endpoint:
                send = partial(spending.send, endpoint, cell)
                record, _ = run_job(job, TrialContext(send, tools, opened.clock, opened.pause))
            server = scrubbed_base_url(plan, cell.endpoint)
            try:
                saved = session.save(opened.secrets)
            except CassetteError as error:  # such as a secret in a reply
                saved = False
                refused.append(str(error))
            attempts = tuple(replace(each, base_url=server) for each in record.attempts)
            return replace(record, attempts=attempts, cassette=name if saved else "")

        journal.write_header(header)
        if watcher:
            watcher.runs_found(found)
        # From each model at each endpoint in turn: none waits for the others, and what is compared between
        # endpoints is run at nearly the same time.
        in_turn = zip_longest(*(plan.samples(*one) for one in product(plan.models, plan.endpoints)))
        samples = (sample for of_each in in_turn for sample in of_each if sample)
        jobs = (job_for(sample) for sample in samples if sample.key not in found.ended)
        for ended in run_in_threads(jobs, plan.options.jobs, run_one, stop):
            record = journal.append(ended)
            made += 1
            if watcher:
                watcher.run_ended(record)
            if spending.reached_cap_sentence():
                stop.set()
    trials = Results.open(out).trials(plan)
    return EvaluationOutcome(plan, trials, made, spending.reached_cap_sentence(), tuple(refused))


def existing_runs(out: Path, plan: EvalPlan, spending: Spending) -> ExistingRuns:
    """The runs that a directory has of its plan, which may have grown, but with the same gates."""
    samples = {(sample.cell, sample.trial): sample for sample in plan.samples()}
    latest = dict[tuple[Cell, int], Record]()
    for record in all_records(out):
        for attempt in () if script_kind_of_model(record.cell.model) else record.attempts:
            for asked in attempt.asked:
                spending.count_request(asked, record.cell)
        latest[record.cell, record.trial] = record
    for run, record in latest.items():
        cell, sample = record.cell, samples.get(run)
        if sample is None:
            part = f"shard {plan.shard}" if plan.shard else "this plan"
            how = f", trial {record.trial}, was run, and {part} lacks it"
        elif sample.key != record.key:
            changes = tree_changes(record.configuration, plan.configuration(cell).text)
            other = " was run under another configuration, or version of its scenario"
            how = "\n  ".join((other, *changes))
        else:
            continue
        raise ResultsError(f"{out}: {cell.model}, {cell.strategy}, {cell.scenario}{how}{_ONE_PLAN}")
    if latest:
        gates = canonical(tree_at(read_header(out / "header.json").plan, "options").get("gate", []))
        if gates != plan.options.gates:
            raise ResultsError(f"{out}: gate: {gates} -> {plan.options.gates}{_ONE_PLAN}")
    rows = [one for one in trials_in(latest.values(), plan) if one.key]
    ended = [one for one in rows if not one.lacking]
    for one in ended:
        name, now = one.cell.endpoint, scrubbed_base_url(plan, one.cell.endpoint)
        if one.server not in {"", now}:  # empty of a script
            endpoint = f"the endpoint {name!r}" if name else "the endpoint"
            raise ResultsError(
                f"{out}: {endpoint} was at {one.server} when its runs were made, and is at {now} now; "
                "evaluate into another directory, or give each server a table [endpoints.NAME]"
            )
    return ExistingRuns(frozenset(one.key for one in ended), len(rows) - len(ended), spending)


_ONE_PLAN = "\na directory belongs to one plan, which may only grow; evaluate into another (--out)"


def cassette_name(sample: Sample) -> str:
    """The path of a run's cassette. A part of the key is in it, so another configuration has another file."""
    cell = sample.cell
    last = "__".join((cell.scenario, cell.profile, f"{sample.trial:02}"))
    parts = filter(None, (cell.model, cell.strategy, cell.endpoint, f"{last}__{sample.key[:8]}"))
    return "/".join(("cassettes", *(re.sub(r"[^A-Za-z0-9_.-]+", "__", part) for part in parts))) + ".yaml"


def job_factory(plan: EvalPlan) -> Callable[[Sample], Job]:
    configuration = cache(plan.configuration)
    return lambda sample: Job(plan, sample, configuration(sample.cell))
