"""Run one trial to its record, live or from its cassette: a conversation with tools, again where allowed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count
from typing import TypeAlias, cast

from toolreel._driver import Clock, InstantClock, Ports, Run, ToolHost, run, speak
from toolreel.evals._runner.scenario_files import open_real_tool_host
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    parse,
    read_json,
    read_json_with_non_finite,
)
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Completed,
    Note,
    ReplyReceived,
    RequestFailed,
    RequestSent,
    RunTool,
    SendRequest,
    SummaryRequested,
    ToolReturned,
)
from toolreel_core._replies import as_chat, finish_reason_of_word, read_reply_metadata, usage_in
from toolreel_core.evals import (
    Attempt,
    Case,
    Configuration,
    EvalPlan,
    Evidence,
    ObservedResult,
    Record,
    Sample,
    Scenario,
    ScenarioScripts,
    ScriptKind,
    SentExchange,
    SentRequest,
    TableWorld,
    Verdict,
    World,
    evidence_of,
    judge,
    provider_error_message,
    reply_as_event_stream,
    retry_delay_ms,
    retry_reason,
    script_kind_of_model,
    scripted_reply,
)

Sender: TypeAlias = Callable[[SendRequest], ReplyReceived | RequestFailed]
"""What :class:`~toolreel.Endpoint` has as ``send``."""


@dataclass(frozen=True, slots=True)
class ScenarioEndpoint:
    """Answers from a script; it has no state, so concurrent runs can share it."""

    kind: ScriptKind
    scripts: ScenarioScripts

    def send(self, effect: SendRequest) -> ReplyReceived:
        # A request is an object with messages, whatever else it has.
        body = cast("Mapping[str, Sequence[Tree]]", json.loads(effect.request.body))
        reply = scripted_reply(self.scripts.of(self.kind), body["messages"], model=f"scripted:{self.kind}")
        streamed = effect.request.streamed
        return ReplyReceived(effect.ref, 200, reply_as_event_stream(reply) if streamed else canonical(reply))


def measure_request(
    effect: SendRequest, event: ReplyReceived | RequestFailed, turn: int = 0, ms: int = 0
) -> SentRequest:
    if isinstance(event, RequestFailed):
        return SentRequest(turn, ms, event.status, failure=event.failure)
    whole = as_chat(event.body, effect.request.form).body
    body: Tree = as_tree(read_json_with_non_finite(whole).value_or({}) if isinstance(whole, str) else whole)
    usage = usage_in(body)
    match body.get("choices"):
        case [{"finish_reason": word}, *_]:
            finish = finish_reason_of_word(word)
        case _:
            finish = finish_reason_of_word(None)
    return SentRequest(
        turn,
        ms,
        event.status,
        finish=finish,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost=usage.cost,
        **asdict(read_reply_metadata(body)),
    )


_KEPT = 20_000
"""Characters of an error's body that a record keeps."""


def error_body(event: RequestFailed) -> Json:
    text = event.body
    return (read_json(text).value_or(text) if len(text) <= _KEPT else text[:_KEPT]) or None


OutsideTools: TypeAlias = Callable[[], AbstractContextManager[ToolHost | None]]
"""Gives each attempt its tools; ``None`` where a run calls none that is outside of its world."""
NO_TOOLS: OutsideTools = nullcontext


def real_tool_host_opener(scenario: Scenario, case: Case) -> OutsideTools:
    return partial(open_real_tool_host, scenario.tree) if case.outside else NO_TOOLS


def tools_with_recorded_results(attempts: Sequence[Attempt]) -> OutsideTools:
    """Tools that answer with the results of each recorded attempt; further attempts get those of the last."""
    number = count()

    @contextmanager
    def begin() -> Generator[ToolHost]:
        place = min(next(number), len(attempts) - 1)
        yield _RecordedHost([*attempts[place].results] if attempts else [])

    return begin


@dataclass(frozen=True, slots=True)
class _RecordedHost:
    """Answers each call with the first result of the same call that is left."""

    left: list[ObservedResult]

    def run(self, effect: RunTool) -> ToolReturned:
        for place, result in enumerate(self.left):
            if (result.name, result.arguments) == (effect.name, effect.arguments):
                del self.left[place]
                return ToolReturned(effect.ref, result.output)
        raise ReplayMismatch(
            f"the run calls {effect.name}({effect.arguments}), and the record has no result of it"
        )


@dataclass(slots=True)
class WorldHost:
    world: World
    outside: Sequence[str] = ()
    real: ToolHost | None = None
    results: list[ObservedResult] = field(default_factory=list, init=False)

    def run(self, effect: RunTool) -> ToolReturned:
        tree = as_tree(parse(effect.arguments))
        if self.real is None or effect.name not in self.outside:
            self.world, output = self.world.call(effect.name, tree)
            return ToolReturned(effect.ref, output)
        # Images and files are not part of a record, so the model is not shown them either.
        answer = ToolReturned(effect.ref, self.real.run(effect).output)
        self.results.append(ObservedResult(effect.name, JsonText(effect.arguments), answer.output))
        if isinstance(self.world, TableWorld):
            self.world = self.world.told(effect.name, tree, answer.output)
        return answer


@dataclass(frozen=True, slots=True)
class TrialContext:
    """What a run needs from outside; by default no time passes."""

    send: Sender
    outside: OutsideTools = NO_TOOLS
    clock: Clock = field(default_factory=InstantClock)
    pause: Callable[[float], object] = lambda _: None
    """Waits that many seconds before a run is tried again."""


@dataclass(slots=True)
class _RecordingEndpoint:
    """Notes each request as it is answered."""

    inner: Sender
    turn: int = 1
    asked: list[SentRequest] = field(default_factory=list)
    sent: list[SentExchange] = field(default_factory=list)
    failed: RequestFailed | None = None
    """The last event, if it is a failure."""

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        since = time.monotonic()
        event = self.inner(effect)
        self.asked.append(measure_request(effect, event, self.turn, round((time.monotonic() - since) * 1000)))
        self.failed = event if isinstance(event, RequestFailed) else None
        if isinstance(event, ReplyReceived):
            self.sent.append(SentExchange(effect.request, event.body))
        return event

    def note_turn(self, note: Note) -> None:
        if isinstance(note, RequestSent | SummaryRequested):
            self.turn = note.turn


@dataclass(frozen=True, slots=True)
class Exchanges:
    run: Run
    evidence: Evidence
    asked: tuple[SentRequest, ...]
    failed: RequestFailed | None
    results: tuple[ObservedResult, ...]
    stopped: str = ""


def run_conversation(case: Case, plan: Plan, context: TrialContext) -> Exchanges:
    """Run a case to its end: an exchange without a complete answer is the last one."""
    endpoint, notes, answers, stopped = _RecordingEndpoint(context.send), list[Note](), list[str](), ""
    with context.outside() as real:
        host = WorldHost(case.world, case.outside, real)
        ports, done = Ports(endpoint, host, clock=context.clock), Run(start(plan).state, ())
        try:
            done = run(plan, ports, observe=endpoint.note_turn)
            notes += done.notes
            for said in case.follow_ups:
                if not isinstance(done.outcome, Completed):
                    break
                answers.append(done.outcome.content)
                done = speak(done, said, ports, observe=endpoint.note_turn)
                notes += done.notes
        except Stopped as error:
            stopped = str(error)
    evidence = evidence_of(
        plan, done.state, notes, host.world, earlier=tuple(answers), sent=tuple(endpoint.sent)
    )
    whole = replace(done, notes=tuple(notes))
    return Exchanges(whole, evidence, tuple(endpoint.asked), endpoint.failed, tuple(host.results), stopped)


class Stopped(Exception):
    """Ends a run before its next request."""


@dataclass(frozen=True, slots=True)
class Job:
    evaluation: EvalPlan
    sample: Sample
    configuration: Configuration

    @property
    def scenario(self) -> Scenario:
        return self.evaluation.scenario(self.sample.cell.scenario)

    @property
    def case(self) -> Case:
        return self.scenario.begin(self.sample.seed)

    def plan(self, case: Case) -> Plan:
        sample = self.sample
        return self.configuration.plan(sample.cell.model, case.messages, case.tools, sample.trial)

    @property
    def script(self) -> ScenarioEndpoint | None:
        kind = script_kind_of_model(self.sample.cell.model)
        return ScenarioEndpoint(kind, self.scenario.scripts(self.sample.seed)) if kind else None


def run_job(job: Job, context: TrialContext) -> tuple[Record, Exchanges]:
    """Run a sample, again where that is allowed, and say what came of it; with its last conversation."""
    sample, configuration, options = job.sample, job.configuration, job.evaluation.options
    left = {"": 0, "empty": options.empty_response_retries, "void": options.void_retries}
    attempts = list[Attempt]()
    while True:
        since, case = time.monotonic(), job.case
        ended = run_conversation(case, job.plan(case), context)
        evidence, failed = ended.evidence, ended.failed
        verdict = judge(case, evidence, control=job.scenario.control)
        if ended.stopped:
            verdict = Verdict("void", "loop.budget", (ended.stopped,))
        ms = round((time.monotonic() - since) * 1000)
        attempts.append(Attempt(ms, verdict, ended.asked, results=ended.results))
        reason = retry_reason(verdict, evidence.final)
        if not left[reason]:
            break
        left[reason] -= 1
        if reason == "void":
            failures = options.void_retries - left["void"]
            context.pause(retry_delay_ms(failures, failed.retry_after_ms if failed else None) / 1000)
    body = error_body(failed) if failed else None
    record = Record(
        key=sample.key,
        cell=sample.cell,
        trial=sample.trial,
        version=sample.version,
        configuration=configuration.text,
        digest=configuration.digest,
        tools_sent=evidence.tools_sent,
        verdict=verdict,
        loop="cancelled" if ended.stopped else evidence.outcome.name,
        final=evidence.final,
        world=canonical(evidence.world.contents()),
        turns=ended.run.state.tally.turns,
        calls=len(evidence.calls),
        attempts=tuple(attempts),
        error_status=failed.status if failed else None,
        error_body=None if body is None else canonical(body),
        error_hint=provider_error_message(body),
    )
    return record, ended
