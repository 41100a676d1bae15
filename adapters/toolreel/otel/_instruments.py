"""The tracer and the instruments of the metrics, with the buckets that the conventions give.

https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai, 1.42), which took over the GenAI
conventions of https://opentelemetry.io/docs/specs/semconv/gen-ai/.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel._internal import MissingExtra

try:
    from opentelemetry.metrics import Histogram, Meter, MeterProvider, get_meter
    from opentelemetry.trace import Tracer, TracerProvider, get_tracer
except ImportError:
    raise MissingExtra.of("otel", "opentelemetry-api") from None

SCOPE: Final = "toolreel"

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
