"""What a tool function can use: :class:`RunContext`, :func:`current_call` and :class:`ToolError`.

The host fills a parameter that is annotated as ``RunContext[Deps]``; the model does not see it.

The key of a call is an idempotency key: a tool that passes it on (as ``Idempotency-Key``, or as the key of a
row) acts once, even if the call is repeated after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar

from toolreel._internal.errors import AdapterError
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.effects import RunTool

Deps = TypeVar("Deps")
"""Type of the dependencies that the tools of a host share: a database, a client, the current user."""


class ToolError(Exception):
    """Raise it in a tool to return an error to the model; the message should say what to do.

    :param code: error code, for the model and for statistics; any text
    :param data: details as JSON
    """

    def __init__(self, message: str, code: str = "ARGUMENT_ERROR", data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(frozen=True, slots=True)
class CurrentCall:
    """The call that a tool is running."""

    name: str
    """The tool's inner name."""
    call_id: str
    """The id from the provider; it can recur in another run."""
    key: str
    """Idempotency key: depends only on the plan, the turn and the position of the call in it."""
    turn: int = 0
    """Turn of the run, counted from 1; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a call, as reported by its tool."""

    call: CurrentCall
    message: str
    done: float | None = None
    """Amount done, in any unit."""
    total: float | None = None
    """Total amount, if known."""


ProgressListener: TypeAlias = Callable[[Progress], None]
"""Callback for progress of tools; it may be called from several threads."""


def ignore_progress(_: Progress) -> None:
    """The default callback for progress."""


@dataclass(slots=True)
class _CallEnd:
    """Whether a call is over: set once by the host, polled by the thread of the tool."""

    is_over: bool = False
    listeners: list[Callable[[], object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunContext(Generic[Deps]):
    """Context of a call, passed to tools that have a parameter of this type.

    >>> RunContext(["shelf"], CurrentCall("count", "call_a", "")).deps
    ['shelf']
    """

    deps: Deps
    """The ``deps`` of the host; ``None`` by default."""
    call: CurrentCall
    """The current call."""
    deadline: float | None = None
    """When the call times out, on ``time.monotonic``; ``None`` for never."""
    on_progress: ProgressListener = ignore_progress
    _end: _CallEnd = field(default_factory=_CallEnd, compare=False, repr=False)

    @property
    def key(self) -> str:
        """Idempotency key of the call, equal when the call is repeated."""
        return self.call.key

    @property
    def turn(self) -> int:
        """Turn of the run, counted from 1."""
        return self.call.turn

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline; ``None`` if there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether the call timed out or was cancelled; a slow tool should check it now and then."""
        return self._end.is_over

    def progress(self, message: str = "", *, done: float | None = None, total: float | None = None) -> None:
        """Report progress; ignored once the call is over."""
        if not self.cancelled:
            self.on_progress(Progress(self.call, message, done, total))

    def on_end(self, listener: Callable[[], object]) -> None:
        """Register a callback for the end of the call: returned, timed out or cancelled.

        The callback may run in another thread, and must not raise.
        """
        self._end.listeners.append(listener)
        if self._end.is_over:  # checked after appending: otherwise end() could run in between and miss it
            self.end()

    def end(self) -> None:
        """Mark the call as over, and run the callbacks; called by the host."""
        self._end.is_over = True
        with suppress(IndexError):  # another thread may pop the last callback first
            while self._end.listeners:
                self._end.listeners.pop()()


_CURRENT: Final[ContextVar[RunContext[Any]]] = ContextVar("toolreel_current_call")


def current_call() -> CurrentCall:
    """The call that this thread or task is running.

    A thread that a tool starts sees it only if the tool runs it in a copy of its context.

    :raises AdapterError: outside of a tool call
    """
    context = _CURRENT.get(None)
    if context is None:
        raise AdapterError(
            "current_call: no tool call is running here; call it inside a tool that PythonTools or "
            "AsyncPythonTools runs, and run your own threads in contextvars.copy_context()"
        )
    return context.call


@contextmanager
def running(context: RunContext[Any] | RunTool) -> Generator[None, None, None]:
    """Set the current call while its tool runs."""
    if isinstance(context, RunTool):
        context = RunContext(None, CurrentCall(context.name, context.call_id, context.key, context.turn))
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
