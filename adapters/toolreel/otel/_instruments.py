"""The tracer, the metrics with the buckets that the conventions give, events with content, and trace headers.

https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai, 1.42), which took over the GenAI
conventions of https://opentelemetry.io/docs/specs/semconv/gen-ai/.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from toolreel._internal import MissingExtra
from toolreel.otel._attributes import Attributes

try:
    from opentelemetry._logs import LoggerProvider, LogRecord, get_logger
    from opentelemetry.context import Context, attach, detach
    from opentelemetry.metrics import Histogram, Meter, MeterProvider, get_meter
    from opentelemetry.trace import Tracer, TracerProvider, get_tracer
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    raise MissingExtra.of("otel", "opentelemetry-api") from None

SCOPE: Final = "toolreel"
_CONTENT_EVENT: Final = "gen_ai.client.inference.operation.details"
# Not the global propagator: it also writes baggage, which may be anything, and these headers are stored.
_TRACE_CONTEXT: Final = TraceContextTextMapPropagator()

_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_OF_RUNS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
_TOKENS: Final = (
    *(1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144),
    *(1_048_576, 4_194_304, 16_777_216, 67_108_864),
)


@dataclass(frozen=True, slots=True)
class Instruments:
    """What spans and metrics are made with."""

    tracer: Tracer
    request_seconds: Histogram
    first_chunk_seconds: Histogram
    tokens: Histogram
    run_seconds: Histogram
    tool_seconds: Histogram

    @classmethod
    def of(cls, tracers: TracerProvider | None, meters: MeterProvider | None) -> Instruments:
        """Those of the providers; by default, of the global ones, also of those that are set later."""
        from importlib.metadata import version  # slow to import

        release = version("toolreel")
        meter = get_meter(SCOPE, release, meter_provider=meters)
        return cls(
            get_tracer(SCOPE, release, tracer_provider=tracers),
            _seconds(meter, "gen_ai.client.operation.duration", "GenAI operation duration.", _SECONDS),
            _seconds(
                meter,
                "gen_ai.client.operation.time_to_first_chunk",
                "Time to receive the first chunk of a streamed reply.",
                _SECONDS,
            ),
            meter.create_histogram(
                "gen_ai.client.token.usage",
                unit="{token}",
                description="Number of input and output tokens used.",
                explicit_bucket_boundaries_advisory=_TOKENS,
            ),
            _seconds(meter, "gen_ai.invoke_agent.duration", "Duration of an agent's run.", _OF_RUNS),
            _seconds(meter, "gen_ai.execute_tool.duration", "Duration of a tool call.", _SECONDS),
        )


def _seconds(meter: Meter, name: str, description: str, bounds: tuple[float, ...]) -> Histogram:
    return meter.create_histogram(
        name, unit="s", description=description, explicit_bucket_boundaries_advisory=bounds
    )


class ContentEvents:
    """Emits the content of requests in events, for those who keep it out of spans."""

    def __init__(self, provider: LoggerProvider | None) -> None:
        self._logger = get_logger(SCOPE, logger_provider=provider)

    def emit(self, attributes: Attributes, context: Context) -> None:
        """Emit one event, which belongs to the span of the context."""
        self._logger.emit(LogRecord(context=context, event_name=_CONTENT_EVENT, attributes=attributes))


class TraceHeaders:
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
