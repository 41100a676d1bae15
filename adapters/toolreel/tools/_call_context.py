"""What a tool may know of the call that it is running: :class:`RunContext`, and :func:`current_call`.

A parameter that is annotated as ``RunContext[Deps]`` is given by the host and never told to the model.

The key names the call for ever: a tool that hands it on (as ``Idempotency-Key``, or as the key of a row)
acts once, even if the call is made again after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar

from toolreel._errors import AdapterError
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.effects import RunTool

__all__ = [
    "CurrentCall",
    "Deps",
    "Progress",
    "ProgressListener",
    "RunContext",
    "ToolError",
    "current_call",
    "running",
]

Deps = TypeVar("Deps")
"""What the tools of a host share: a database, a client, the user on whose behalf a run acts."""


class ToolError(Exception):
    """Raised by a tool to tell the model what was wrong with its arguments, and what to do.

    :param code: one of the tool's own, for the model and for those who count errors
    :param data: figures that go with it, which JSON can carry
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
    """The id that the model's provider gave; it may come again in another run."""
    key: str
    """Depends only on the plan, the turn and the place of the call in it."""
    turn: int = 0
    """The turn of the run that the call belongs to, from 1 on; 0 if nobody said."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call has come, as its tool reports it."""

    call: CurrentCall
    message: str
    done: float | None = None
    """How much is done, in units of the tool's own."""
    total: float | None = None
    """How much there is to do, if it is known."""


ProgressListener: TypeAlias = Callable[[Progress], None]
"""Is shown what tools report; it may be called from several threads."""


def _ignore(_: Progress) -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class _CallEnd:
    """Written once, by the host, and read by the thread in which the tool runs; nobody sleeps on it."""

    has_come: bool = False
    listeners: list[Callable[[], object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunContext(Generic[Deps]):
    """What a host gives to a tool that asks for it by a parameter of this type.

    >>> RunContext(["shelf"], CurrentCall("count", "call_a", "")).deps
    ['shelf']
    """

    deps: Deps
    """What the host was given as ``deps``; ``None`` if it was given nothing."""
    call: CurrentCall
    """Which call this is."""
    deadline: float | None = None
    """When nobody waits any longer, on ``time.monotonic``; ``None`` for never."""
    on_progress: ProgressListener = _ignore
    _ending: _CallEnd = field(default_factory=_CallEnd, compare=False, repr=False)

    @property
    def key(self) -> str:
        """The key of the call, the same whenever it is made again."""
        return self.call.key

    @property
    def turn(self) -> int:
        """The turn that the call belongs to."""
        return self.call.turn

    @property
    def seconds_left(self) -> float | None:
        """Seconds until nobody waits any longer; ``None`` where there is no deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any longer; a tool that takes long looks at it now and then."""
        return self._ending.has_come

    def progress(self, message: str = "", *, done: float | None = None, total: float | None = None) -> None:
        """Report how far the call has come; what comes after its end is not heard."""
        if not self.cancelled:
            self.on_progress(Progress(self.call, message, done, total))

    def on_end(self, listener: Callable[[], object]) -> None:
        """Call back when the call is over: returned, timed out or cancelled.

        The callback may run in another thread, and must not raise.
        """
        self._ending.listeners.append(listener)
        if self._ending.has_come:  # asked after appending, so that none is forgotten in between
            self.end()

    def end(self) -> None:
        """Let the tool know that nobody waits any longer; the host does it."""
        self._ending.has_come = True
        with suppress(IndexError):  # another thread may take the last one first
            while self._ending.listeners:
                self._ending.listeners.pop()()


_CURRENT: Final[ContextVar[RunContext[Any]]] = ContextVar("toolreel_current_call")


def current_call() -> CurrentCall:
    """The call that is being run here, in this thread or task.

    A thread that a tool starts by itself knows of it only if the tool hands it its context.

    :raises AdapterError: outside of a tool that a host is running
    """
    context = _CURRENT.get(None)
    if context is None:
        raise AdapterError(
            "current_call: no call is being run here; ask inside a tool that PythonTools or AsyncPythonTools "
            "runs, and hand contextvars.copy_context() to threads of your own"
        )
    return context.call


@contextmanager
def running(context: RunContext[Any] | RunTool) -> Generator[None, None, None]:
    """Make the call known to the tool that runs it."""
    if isinstance(context, RunTool):
        context = RunContext(None, CurrentCall(context.name, context.call_id, context.key, context.turn))
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
