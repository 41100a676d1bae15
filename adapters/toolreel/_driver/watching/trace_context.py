"""The trace that a run belongs to, written as headers, so that another process can go on with it.

The tracer decides what a trace is (``toolreel.otel``); there is none by default.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol


class TraceContext(Protocol):
    """Writes the current trace, and joins one that was written elsewhere."""

    def written(self) -> Mapping[str, str]:
        """The current trace as headers; empty where there is none."""
        ...

    def joined(self, headers: Mapping[str, str], /) -> AbstractContextManager[object]:
        """A scope in which the trace of these headers is the current one."""
        ...


CONTEXTS: list[TraceContext] = []


def current_trace() -> dict[str, str]:
    """The current trace as headers; empty where nobody traces."""
    return {name: value for context in CONTEXTS for name, value in context.written().items()}


@contextmanager
def joined_trace(headers: Mapping[str, str]) -> Generator[None]:
    """Join the trace of these headers, which :func:`current_trace` has written, here or elsewhere."""
    with ExitStack() as scopes:
        for context in CONTEXTS if headers else ():
            scopes.enter_context(context.joined(headers))
        yield
