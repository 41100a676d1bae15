"""The spans and metrics of one run: a span for the run, each request and each tool call."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.trace import (
    Span,
    SpanKind,
    Status,
    StatusCode,
    TracerProvider,
    get_tracer,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolreel._driver import (
    CONTEXTS,
    WATCHERS,
    Begun,
    RunWatcher,
    Wanted,
    Watch,
    note_fields_without_content,
    note_name,
)
from toolreel.otel._attributes import (
    AGENT,
    LABELS,
    Attributes,
    captures_content,
    chat_request_attributes,
    nonempty_attributes,
    parsed_json,
    redacted_json_text,
    reply_attributes,
    reply_content_attributes,
    request_attributes,
    request_content_attributes,
    run_attributes,
    tool_attributes,
)
from toolreel_core._loop import parse_reply_body
from toolreel_core._protocol import (
    CallEnded,
    CallStarted,
    Event,
    Note,
    ReplyRead,
    ReplyReceived,
    RequestSent,
    RunSettled,
    RunTool,
    SendRequest,
    State,
    Step,
    ToolReturned,
)
from toolreel_core._replies import Reply

_SHOWN_BY_SPANS = (RequestSent, ReplyRead, CallStarted, CallEnded, RunSettled)
"""Notes that say no more than a span and its attributes."""
_SECOND = 1_000_000_000
"""In nanoseconds, the unit of a span's times."""
_SCOPE = "toolreel"

# The bounds that the conventions name: docs/gen-ai/gen-ai-metrics.md of semantic-conventions-genai.
_SECONDS = [0.01 * 2**n for n in range(14)]
_HISTOGRAMS: Mapping[str, tuple[str, str, Sequence[float]]] = {
    "client.operation.duration": ("s", "GenAI operation duration.", _SECONDS),
    "client.operation.time_to_first_chunk": (
        "s",
        "Time to receive the first chunk of a streamed reply.",
        _SECONDS,
    ),
    "client.token.usage": (
        "{token}",
        "Number of input and output tokens used.",
        [4**n for n in range(14)],
    ),
    "invoke_agent.duration": ("s", "Duration of an agent's run.", [0.1 * 2**n for n in range(13)]),
    "execute_tool.duration": ("s", "Duration of a tool call.", _SECONDS),
}
"""Unit, description and bounds of each."""


class Instruments:
    """What spans and metrics are made with, by the providers; by default by the global ones."""

    def __init__(self, tracers: TracerProvider | None, meters: MeterProvider | None) -> None:
        from importlib.metadata import version  # slow to import

        release = version("toolreel")
        meter = get_meter(_SCOPE, release, meter_provider=meters)
        self.tracer = get_tracer(_SCOPE, release, tracer_provider=tracers)
        self._histograms = {
            name: meter.create_histogram(
                f"gen_ai.{name}", unit, about, explicit_bucket_boundaries_advisory=bounds
            )
            for name, (unit, about, bounds) in _HISTOGRAMS.items()
        }

    def start_span(self, named: str, kind: SpanKind, attributes: Attributes, around: Context) -> OpenSpan:
        began = time.time_ns()
        span = self.tracer.start_span(named, around, kind, attributes, start_time=began)
        return OpenSpan(span, set_span_in_context(span, around), began)

    def record(self, name: str, value: float, attributes: Attributes, of: OpenSpan) -> None:
        self._histograms[name].record(value, nonempty_attributes(attributes), of.context)


@dataclass(slots=True)
class OpenSpan:
    span: Span
    context: Context
    began: int
    first: int = 0
    """When the first piece of a reply came, in nanoseconds; 0 before."""
    ended: int = 0
    replayed: bool = False

    @property
    def seconds(self) -> float:
        return (self.ended - self.began) / _SECOND

    def end(self, attributes: Attributes, error: str) -> None:
        """End the span; of an error only the code, since its message may quote what was said."""
        self.span.set_attributes(attributes)
        if error:
            self.span.set_attribute("error.type", error)
            self.span.set_status(Status(StatusCode.ERROR, error))
        self.span.end(self.ended or None)


class RunWatch(Watch):
    def __init__(self, begun: Begun, instruments: Instruments, *, content: bool) -> None:
        self._begun = begun
        self._instruments = instruments
        self._captures_content = content
        self._labels = LABELS.get()
        self._agent = str(self._labels.get(AGENT, ""))
        self._state = begun.first.state
        self._plan = begun.first.state.plan
        self._open: dict[int, OpenSpan] = {}
        self._replayed = self._performed = 0
        named, attributes = f"invoke_agent {self._agent}".rstrip(), run_attributes(begun, self._labels)
        self._run = instruments.start_span(named, SpanKind.INTERNAL, attributes, get_current())
        _add_events(self._run, begun.first.notes)

    @contextmanager
    def performing(self, effect: Wanted) -> Generator[None, None, None]:
        opened = self._span_of(effect)
        # An agent that a tool runs is another one.
        labels = LABELS.set({name: value for name, value in self._labels.items() if name != AGENT})
        token = attach((opened or self._run).context)
        try:
            yield
        finally:
            detach(token)
            LABELS.reset(labels)

    def began_to_arrive(self, effect: Wanted) -> None:
        if (opened := self._open.get(effect.ref)) is not None:
            opened.first = time.time_ns()

    def performed(self, effect: Wanted, *, replayed: bool) -> None:
        """Keep the time; the span ends when the run has read the answer."""
        self._performed += 1
        self._replayed += replayed
        if (opened := self._open.get(effect.ref)) is not None:
            opened.ended, opened.replayed = time.time_ns(), replayed

    def stepped(self, effect: Wanted | None, event: Event, after: Step) -> None:
        """End the span of the effect, with what the run made of the answer."""
        before, self._state = self._state, after.state
        opened = None if effect is None else self._open.pop(effect.ref, None)
        _add_events(opened or self._run, after.notes)
        if opened is None:
            return
        opened.ended = opened.ended or time.time_ns()
        if opened.replayed:
            opened.span.set_attribute("toolreel.replayed", True)
        if isinstance(effect, SendRequest):
            # Read a second time: a step does not return the reply that it read.
            reply = parse_reply_body(event.body, before).reply if isinstance(event, ReplyReceived) else None
            self._end_request(opened, effect, reply, after.notes)
        elif isinstance(effect, RunTool):
            self._end_tool(opened, effect, event, after.notes)

    def ended(self, state: State, error: BaseException | None) -> None:
        """End the span of the run, and those that are still open."""
        # GeneratorExit, CancelledError and KeyboardInterrupt are not faults of the run: somebody stopped it.
        stopped = "" if error is None else "cancelled"
        why = type(error).__qualname__ if isinstance(error, Exception) else stopped
        for opened in self._open.values():
            opened.end({}, why)
        self._open.clear()
        outcome = why or (state.outcome.name if state.outcome else "resting")
        fault = "" if outcome in {"completed", "resting", "cancelled"} else outcome
        tally = state.tally.since(self._begun.first.state.tally)
        replayed = 0 < self._performed == self._replayed
        self._run.ended = time.time_ns()
        self._run.end(
            {
                "gen_ai.usage.input_tokens": tally.prompt_tokens,
                "gen_ai.usage.output_tokens": tally.completion_tokens,
                "toolreel.outcome": outcome,
                "toolreel.turns": state.tally.since(state.exchange_began).turns,
                "toolreel.tool_calls": tally.tool_calls,
                "toolreel.replayed": replayed,
            },
            fault,
        )
        if not replayed:
            of_run: Attributes = {
                "gen_ai.request.model": self._plan.model,
                AGENT: self._agent,
                "error.type": fault,
            }
            self._instruments.record("invoke_agent.duration", self._run.seconds, of_run, self._run)

    def _span_of(self, effect: Wanted) -> OpenSpan | None:
        """The span of an effect, which begins with its first scope; waits and approvals have none."""
        if (opened := self._open.get(effect.ref)) is not None:
            return opened
        match effect:
            case SendRequest():
                named, kind = f"chat {effect.request.model}", SpanKind.CLIENT
                attributes = request_attributes(effect, self._begun.performer, self._labels)
                attributes["toolreel.turn"] = self._state.tally.turns
            case RunTool():
                named, kind = f"execute_tool {effect.name}", SpanKind.INTERNAL
                attributes = tool_attributes(effect, self._plan)
            case _:
                return None
        opened = self._instruments.start_span(named, kind, attributes, self._run.context)
        self._open[effect.ref] = opened
        return opened

    def _end_request(
        self, opened: OpenSpan, effect: SendRequest, reply: Reply | None, notes: tuple[Note, ...]
    ) -> None:
        attributes = reply_attributes(reply, notes)
        first = (opened.first - opened.began) / _SECOND if opened.first and not opened.replayed else None
        content = request_content_attributes(effect, self._plan) if self._captures_content else {}
        if self._captures_content and reply is not None:
            content |= reply_content_attributes(reply)
        for name, value in content.items():
            opened.span.set_attribute(name, redacted_json_text(value, self._begun.secrets))
        timed = attributes if first is None else {**attributes, "gen_ai.response.time_to_first_chunk": first}
        error, model = (str(attributes.get(name, "")) for name in ("error.type", "gen_ai.response.model"))
        opened.end(timed, error)
        if opened.replayed:
            return  # it took no time and no tokens
        record, server = self._instruments.record, chat_request_attributes(effect, self._begun.performer)
        common: Attributes = {**server, "gen_ai.response.model": model}
        for kind in ("input", "output"):
            if isinstance(count := attributes.get(f"gen_ai.usage.{kind}_tokens"), int):
                record("client.token.usage", count, {**common, "gen_ai.token.type": kind}, opened)
        if first is not None:
            record("client.operation.time_to_first_chunk", first, common, opened)
        record("client.operation.duration", opened.seconds, {**common, "error.type": error}, opened)

    def _end_tool(self, opened: OpenSpan, effect: RunTool, event: Event, notes: tuple[Note, ...]) -> None:
        output = event.output if isinstance(event, ToolReturned) else ""
        ended = next((note for note in notes if isinstance(note, CallEnded)), None)
        error = "cancelled"
        if ended is not None:
            error = "" if ended.ok else next(iter(ended.codes), "tool_error")
        if self._captures_content:
            for name, text in (("arguments", effect.arguments), ("result", output)):
                said = redacted_json_text(parsed_json(text), self._begun.secrets)
                opened.span.set_attribute(f"gen_ai.tool.call.{name}", said)
        opened.end({}, error)
        if not opened.replayed:
            of_call: Attributes = {
                "gen_ai.tool.name": effect.name,
                "gen_ai.tool.type": "function",
                AGENT: self._agent,
                "error.type": error,
            }
            self._instruments.record("execute_tool.duration", opened.seconds, of_call, opened)


def _add_events(opened: OpenSpan, notes: tuple[Note, ...]) -> None:
    for note in notes:
        if not isinstance(note, _SHOWN_BY_SPANS):
            facts: Attributes = {
                f"toolreel.{name}": value for name, value in note_fields_without_content(note).items()
            }
            opened.span.add_event(f"toolreel.{note_name(note)}", facts)


# ``instrument`` and ``uninstrument``: spans and metrics of every run in this process.


_INSTALLED = list[RunWatcher]()
# Not the global propagator: it also writes baggage, which may be anything, and these headers are stored.
_TRACE_CONTEXT = TraceContextTextMapPropagator()


# ``traceparent`` and ``tracestate``, for runs that another process goes on with.


def _trace_headers() -> Mapping[str, str]:
    headers: dict[str, str] = {}
    _TRACE_CONTEXT.inject(headers)
    return headers


@contextmanager
def _continue_trace_from_headers(headers: Mapping[str, str]) -> Generator[None]:
    """Make the span of the headers the current one; headers that cannot be read begin a new trace."""
    token = attach(_TRACE_CONTEXT.extract(headers))
    try:
        yield
    finally:
        detach(token)


def instrument(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    capture_content: bool | None = None,
) -> None:
    """Give every run that begins from now on spans and metrics, whatever drives it.

    A run has a span (``invoke_agent``), which joins the caller's trace, and in it a span for each request
    (``chat``) and each tool call (``execute_tool``). A durable run joins the trace of its submitter. Tools
    run inside their span. What the loop decides (retries, repairs, nudges, rejected calls) is on them as
    events. A replayed run says so, and is not in the metrics. Calling it again replaces the former settings.

    :param tracer_provider: makes the spans; by default the global one
    :param meter_provider: makes the metrics; by default the global one
    :param capture_content: whether spans have messages, arguments and results, with secrets redacted; by
        default what ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` says, and without it not
    :raises MissingExtra: if OpenTelemetry is not installed
    :raises ConfigError: if the variable has another value than these
    """
    content = captures_content(capture_content, os.environ)
    instruments = Instruments(tracer_provider, meter_provider)

    def watch(begun: Begun) -> Watch:
        return RunWatch(begun, instruments, content=content)

    uninstrument()
    _INSTALLED.append(watch)
    WATCHERS.append(watch)
    CONTEXTS.append((_trace_headers, _continue_trace_from_headers))


def uninstrument() -> None:
    """Give further runs no spans and metrics; those under way keep theirs."""
    while _INSTALLED:
        WATCHERS.remove(_INSTALLED.pop())
    CONTEXTS.clear()
