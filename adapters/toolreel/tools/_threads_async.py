"""Awaiting what runs in a thread of its own, on asyncio and on trio.

Not in a worker thread of anyio: on asyncio, one that hangs keeps the process from ending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from toolreel._driver.ports import ToolHost
from toolreel._errors import MissingExtra
from toolreel.tools._python.host import in_thread
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

try:
    import anyio
except ImportError:
    raise MissingExtra.of("http", "anyio") from None

__all__ = ["ThreadedTools", "awaited"]


@dataclass(frozen=True, slots=True)
class ThreadedTools:
    """A tool host that makes its caller wait, awaited: each call has a thread, left behind when cancelled."""

    tools: ToolHost

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool in a thread."""
        return await awaited(in_thread(effect.name, partial(self.tools.run, effect)))


async def awaited(returned: Future[ToolReturned]) -> ToolReturned:
    """What a call that runs in a thread comes to."""
    done = anyio.Event()
    returned.add_done_callback(_waker(done))
    await done.wait()
    return returned.result()


def _waker(done: anyio.Event) -> Callable[[object], None]:
    """What sets the event from another thread, if the event loop is still there by then."""
    later: Callable[[Callable[[], object]], object]
    try:
        later = asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        import trio

        later = trio.lowlevel.current_trio_token().run_sync_soon

    def wake(_: object) -> None:
        with suppress(RuntimeError):
            later(done.set)

    return wake
