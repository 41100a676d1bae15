"""What a tool function can use: :class:`RunContext`, :func:`current_call`, :func:`spend`, :class:`ToolError`.

The key of a call is an idempotency key: a tool that passes it on acts once, even if the call is made again
after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolreel._internal import AdapterError
from toolreel_core._jsontext import Json
from toolreel_core._protocol import RunTool, Spent

if TYPE_CHECKING:
    from concurrent.futures import Future

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


# A future calls each listener once, also one that is added after the end.
def _new_end_future() -> Future[None]:
    from concurrent.futures import Future  # slow to import

    return Future()


@dataclass(slots=True)
class CallSpending:
    """What a call has taken of models so far; any thread of the tool may add to it."""

    known: list[Spent] = field(default_factory=list)
    underway: int = 0
    """How many runs of inner agents are underway; until they end, nobody knows what they take."""

    def add_ended_run(self, spent: Spent | None) -> None:
        if spent is not None:
            self.known.append(spent)
        self.underway -= 1  # last, since a call at its deadline reads this from another thread

    @property
    def total(self) -> Spent | None:
        """All together; of unknown cost while a run is underway. ``None`` if it is nothing."""
        spent = [*self.known, *(Spent() for _ in range(self.underway))]
        return reduce(Spent.plus, spent) if spent else None


@dataclass(frozen=True, slots=True)
class RunContext(Generic[Deps]):
    """Context of a call, passed to tools that have a parameter of this type.

    >>> RunContext(["shelf"], CurrentCall("count", "call_a", "")).deps
    ['shelf']
    """

    deps: Deps
    """The ``deps`` of the host; ``None`` by default."""
    call: CurrentCall
    deadline: float | None = None
    """When the call times out, on ``time.monotonic``; ``None`` for never."""
    _end: Future[None] = field(default_factory=_new_end_future, compare=False, repr=False)
    spending: CallSpending = field(default_factory=CallSpending, compare=False, repr=False)

    @classmethod
    def of_call(cls, effect: RunTool, deps: Deps, deadline: float | None = None) -> RunContext[Deps]:
        """The context of a call that begins."""
        return cls(deps, CurrentCall(effect.name, effect.call_id, effect.key, effect.turn), deadline)

    @property
    def key(self) -> str:
        """Idempotency key of the call, equal when the call is repeated."""
        return self.call.key

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline; ``None`` if there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether the call timed out or was cancelled; a slow tool should check it now and then."""
        return self._end.done()

    def on_end(self, listener: Callable[[], object]) -> None:
        """Register a callback for the end of the call: returned, timed out or cancelled.

        The callback may run in another thread, and must not raise.
        """
        self._end.add_done_callback(lambda _: listener())

    def end(self) -> None:
        """Mark the call as over, and run the callbacks; called by the host."""
        if not self._end.done():
            self._end.set_result(None)


_CURRENT: ContextVar[RunContext[Any]] = ContextVar("toolreel_current_call")


def current_call() -> CurrentCall:
    """The call that this thread or task is running.

    A thread that a tool starts sees it only if the tool runs it in a copy of its context.

    :raises AdapterError: outside of a tool call
    """
    return _current_context().call


def spend(spent: Spent | None) -> None:
    """Say what the current call took of a model that the tool asked itself, which the run counts.

    A tool that runs an agent writes ``spend(run.spent)``; :meth:`toolreel.Agent.as_tool` does it for you.

    :param spent: is added to what the call has said before; ``None`` is nothing
    :raises AdapterError: outside of a tool call
    """
    known = _current_context().spending.known
    known += [] if spent is None else [spent]


def begin_spending() -> CallSpending:
    """What the current call takes; a run adds to it until :meth:`Spending.add_ended_run`."""
    context = _CURRENT.get(None)
    begun = CallSpending() if context is None else context.spending
    begun.underway += 1
    return begun


def _current_context() -> RunContext[Any]:
    context = _CURRENT.get(None)
    if context is None:
        raise AdapterError(
            "no tool call is running here; do this inside a tool that PythonTools or AsyncPythonTools runs, "
            "and run your own threads in contextvars.copy_context()"
        )
    return context


@contextmanager
def as_current_call(context: RunContext[Any]) -> Generator[None]:
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
