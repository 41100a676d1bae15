"""How much time a run has left, for the ports that a driver calls: nothing they do shall outlast the run.

A context variable, since a port has one method with one effect, and an effect has no clock. It holds within
the thread or task that performs the effect.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Final

_ENDS_AT: Final = ContextVar("toolreel_run_ends_at", default=inf)


def time_left() -> float:
    """Seconds until the run is over, at least 0; infinite if its time is not limited."""
    return max(0.0, _ENDS_AT.get() - time.monotonic())


@contextmanager
def ending_at(moment: float) -> Generator[None]:
    """Limit the time of what happens inside. A run inside a tool of another run ends with it at the latest.

    :param moment: on the clock of ``time.monotonic``
    """
    before = _ENDS_AT.set(min(moment, _ENDS_AT.get()))
    try:
        yield
    finally:
        _ENDS_AT.reset(before)
