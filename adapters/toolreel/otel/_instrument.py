"""``instrument`` and ``uninstrument``: spans and metrics of every run in this process."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from toolreel._driver import CONTEXTS, Begun, Watch, Watcher, unwatch, watch_with
from toolreel._internal import MissingExtra
from toolreel.otel._content import Capture

try:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import attach, detach
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    raise MissingExtra.of("otel", "opentelemetry-api") from None

from toolreel.otel._run_watch import Instruments, RunWatch

_INSTALLED: Final = list[Watcher]()
# Not the global propagator: it also writes baggage, which may be anything, and these headers are stored.
_TRACE_CONTEXT: Final = TraceContextTextMapPropagator()


class _TraceHeaders:
    """``traceparent`` and ``tracestate``, for runs that another process goes on with."""

    def written(self) -> Mapping[str, str]:
        """The headers of the current span; none where there is no span."""
        headers: dict[str, str] = {}
        _TRACE_CONTEXT.inject(headers)
        return headers

    @contextmanager
    def joined(self, headers: Mapping[str, str]) -> Generator[None]:
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
    logger_provider: LoggerProvider | None = None,
    capture_content: bool | None = None,
) -> None:
    """Give every run that begins from now on spans and metrics, whatever drives it.

    A run has a span (``invoke_agent``), which joins the caller's trace, and in it a span for each request
    (``chat``) and each tool call (``execute_tool``). A durable run joins the trace of its submitter. Tools
    run inside their span. What the loop decides (retries, repairs, nudges, rejected calls) is on them as
    events. A replayed run says so, and is not in the metrics. Calling it again replaces the former settings.

    :param tracer_provider: makes the spans; by default the global one
    :param meter_provider: makes the metrics; by default the global one
    :param logger_provider: emits the events with content, if the variable asks for them; by default the
        global one
    :param capture_content: whether spans have messages, arguments and results, with secrets redacted; by
        default what ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` says, and without it not
    :raises MissingExtra: if OpenTelemetry is not installed
    :raises ConfigError: if the variable has another value than the conventions know
    """
    capture = Capture.of(capture_content, os.environ)
    instruments = Instruments(tracer_provider, meter_provider, logger_provider)

    def watch(begun: Begun) -> Watch:
        return RunWatch(begun, instruments, capture)

    uninstrument()
    _INSTALLED.append(watch)
    watch_with(watch)
    CONTEXTS.append(_TraceHeaders())


def uninstrument() -> None:
    """Give further runs no spans and metrics; those under way keep theirs."""
    while _INSTALLED:
        unwatch(_INSTALLED.pop())
    CONTEXTS.clear()
