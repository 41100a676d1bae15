"""What a run tells OpenTelemetry, kept in memory by the SDK."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext

from toolreel.otel import instrument, uninstrument


def context_of(span: ReadableSpan) -> SpanContext:
    """The ids of a span, which one that has begun has."""
    context: SpanContext | None = span.context
    assert context is not None
    return context


def told(of: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a span, event, point or log record
    """Its attributes."""
    return of.attributes or {}


@dataclass(frozen=True, slots=True)
class Heard:
    """The spans and metrics so far."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    provider: TracerProvider

    @property
    def spans(self) -> list[ReadableSpan]:
        return [*self.exporter.get_finished_spans()]

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    def parents(self) -> list[tuple[str, str]]:
        """Each span's name with that of its parent, in the order in which they began."""
        names = {context_of(span).span_id: span.name for span in self.spans}
        begun = sorted(self.spans, key=lambda span: span.start_time or 0)
        return [(span.name, names.get(span.parent.span_id, "?") if span.parent else "") for span in begun]

    def points(self) -> Mapping[str, list[HistogramDataPoint]]:
        """The points of each histogram, by its name."""
        data = self.reader.get_metrics_data()
        found: dict[str, list[Any]] = {}
        for resource in [] if data is None else data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found.setdefault(metric.name, []).extend(metric.data.data_points)
        return found


@contextmanager
def instrumented(*, capture_content: bool | None = None) -> Generator[Heard]:
    exporter, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader])
    instrument(tracer_provider=provider, meter_provider=meters, capture_content=capture_content)
    try:
        yield Heard(exporter, reader, provider)
    finally:
        uninstrument()
        meters.shutdown()
        provider.shutdown()
