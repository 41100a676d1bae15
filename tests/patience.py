"""How tests wait for what happens elsewhere: for the event itself, and at most until it must be a hang.

A test that waits a fixed time is slow on a quiet machine and fails on a busy one. A load of 15 on two cores
makes everything ten times slower, so the limit here is minutes: it only ends a run that would never end.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

HANG = 300.0
"""Seconds after which something is taken to hang."""

NEVER = 2 * HANG
"""Seconds that a silent server waits with what nobody is to get: longer than any test."""

_EVERY = 0.01
"""Seconds between two looks."""


def eventually(holds: Callable[[], object], what: str) -> None:
    """Wait until a condition holds.

    :param what: the condition in words, for the failure
    """
    end = time.monotonic() + HANG
    while not holds():
        assert time.monotonic() < end, f"after {HANG:g} s not yet: {what}"
        time.sleep(_EVERY)


async def eventually_async(holds: Callable[[], object], what: str) -> None:
    """Wait until a condition holds, and let other tasks run meanwhile."""
    with anyio.move_on_after(HANG):
        while not holds():
            await anyio.sleep(_EVERY)
        return
    raise AssertionError(f"after {HANG:g} s not yet: {what}")
