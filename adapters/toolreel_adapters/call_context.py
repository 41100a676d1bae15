"""What a tool may know of the call that it is running: :func:`current_call`.

The key names the call for ever: a tool that hands it on (as ``Idempotency-Key``, or as the key of a row)
acts once, even if the call is made again after a crash.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from toolreel.effects import RunTool
from toolreel_adapters.errors import AdapterError

__all__ = ["CurrentCall", "current_call", "running"]


@dataclass(frozen=True, slots=True)
class CurrentCall:
    """The call that a tool is running."""

    name: str
    """The tool's inner name."""
    call_id: str
    """The id that the model's provider gave; it may come again in another run."""
    key: str
    """Depends only on the plan, the turn and the place of the call in it."""


_CURRENT: Final[ContextVar[CurrentCall]] = ContextVar("toolreel_current_call")


def current_call() -> CurrentCall:
    """The call that is being run here, in this thread or task.

    A thread that a tool starts by itself knows of it only if the tool hands it its context.

    :raises AdapterError: outside of a tool that a host is running
    """
    call = _CURRENT.get(None)
    if call is None:
        raise AdapterError(
            "current_call: no call is being run here; ask inside a tool that PythonTools or AsyncPythonTools "
            "runs, and hand contextvars.copy_context() to threads of your own"
        )
    return call


@contextmanager
def running(effect: RunTool) -> Generator[None, None, None]:
    """Make the call known to the tool that runs it."""
    token = _CURRENT.set(CurrentCall(effect.name, effect.call_id, effect.key))
    try:
        yield
    finally:
        _CURRENT.reset(token)
