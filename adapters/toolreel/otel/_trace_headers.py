"""The current trace in the headers of W3C Trace Context, for runs that another process goes on with."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry.context import attach, detach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

# Not the global propagator: it also writes baggage, which may be anything, and these headers are stored.
_FORMAT: Final = TraceContextTextMapPropagator()


class TraceHeaders:
    """``traceparent`` and ``tracestate``."""

    def written(self) -> Mapping[str, str]:
        """The headers of the current span; none where there is no span."""
        headers: dict[str, str] = {}
        _FORMAT.inject(headers)
        return headers

    @contextmanager
    def joined(self, headers: Mapping[str, str]) -> Generator[None]:
        """Make the span of the headers the current one; headers that cannot be read begin a new trace."""
        token = attach(_FORMAT.extract(headers))
        try:
            yield
        finally:
            detach(token)
