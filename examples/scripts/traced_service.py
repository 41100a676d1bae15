# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "toolreel[http,otel]",
#     "fastapi",
#     "uvicorn",
#     "opentelemetry-sdk",
#     "opentelemetry-exporter-otlp-proto-http",
#     "opentelemetry-instrumentation-fastapi",
#     "opentelemetry-instrumentation-httpx",
# ]
# ///
"""A run in the trace of a web service: ``python traced_service.py``.

A caller asks a service (FastAPI), which runs an agent, whose tool asks another service. All of it is one
trace, printed as a tree. With ``OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318`` it goes to your collector
as well.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import httpx
import uvicorn
from fastapi import FastAPI
from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolreel import Agent
from toolreel.otel import instrument, labelled
from toolreel.testing import ScriptedEndpoint, calling, saying

warehouse = FastAPI()


@warehouse.get("/stock/{part}")
def count(part: str) -> int:
    """What the tool asks: a service of somebody else."""
    return {"pin": 4, "shim": 0}[part]


def service_over(warehouse_url: str) -> FastAPI:
    """The service, which runs an agent for each question."""

    def stock(part: str) -> int:
        """How many of a part are in stock."""
        return int(httpx.get(f"{warehouse_url}/stock/{part}").text)

    script = [calling(("stock", {"part": "pin"})), saying("There are 4 pins.")]
    app = FastAPI()

    @app.get("/ask")
    def ask(question: str) -> str:
        # Instead of a script: Agent("your-model", base_url="https://your.server/v1", tools=[stock])
        agent = Agent("your-model", tools=[stock], endpoint=ScriptedEndpoint(script))
        with labelled("clerk"):
            return agent.run(question).text

    return app


@contextmanager
def serving(app: FastAPI) -> Generator[str]:
    """A server in a thread; its URL."""
    FastAPIInstrumentor.instrument_app(app, exclude_spans=["send", "receive"])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()


def tree(spans: list[ReadableSpan], parent: int | None = None, depth: int = 0) -> Generator[str]:
    """The spans below a span, a line each, in the order in which they began."""
    below = [span for span in spans if (span.parent.span_id if span.parent else None) == parent]
    for span in sorted(below, key=lambda span: span.start_time or 0):
        yield f"{'  ' * depth}{span.name}"
        yield from tree(spans, span.context and span.context.span_id, depth + 1)


def main() -> None:
    """Set OpenTelemetry up, serve, and ask."""
    resource, spans = Resource.create({"service.name": "shop"}), InMemorySpanExporter()
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(tracers)
    if "OTEL_EXPORTER_OTLP_ENDPOINT" in os.environ:
        tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics.set_meter_provider(MeterProvider([reader], resource=resource))
    HTTPXClientInstrumentor().instrument()
    instrument()

    caller = trace.get_tracer("caller").start_as_current_span("caller")
    with serving(warehouse) as warehouse_url, serving(service_over(warehouse_url)) as url, caller:
        print(httpx.get(f"{url}/ask", params={"question": "How many pins are there?"}).json())
    found = [*spans.get_finished_spans()]
    print("\n".join(tree(found)))
    assert len({span.context.trace_id for span in found if span.context}) == 1


if __name__ == "__main__":
    main()
