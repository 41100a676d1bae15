"""The runs of a reel: against the live server while recording, otherwise against the recording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from toolreel._driver.aio import arun
from toolreel._driver.clocks import AsyncSystemClock, InstantClock, SystemClock
from toolreel._driver.performer import AsyncPorts, ImmediateClock, ImmediateEndpoint, Ports
from toolreel._driver.ports import Approver, AsyncApprover, AsyncToolHost, Observer, ToolHost
from toolreel._driver.run_result import Run
from toolreel._driver.sync import run
from toolreel._internal.errors import MissingExtra
from toolreel._replay.journal_performer import AsyncRehearsal, Rehearsal, breaks_in
from toolreel._replay.taped_endpoint import TapedEndpoint
from toolreel.tools._python.host import AsyncPythonTools, PythonTools
from toolreel.tools._python.tool import ToolLike
from toolreel_core._errors import ConfigError
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

try:
    import anyio.to_thread
except ImportError:
    raise MissingExtra.of("http", "anyio") from None

if TYPE_CHECKING:
    from toolreel.testing._reels.reel import Reel


def run_in(
    reel: Reel,
    plan: Plan,
    tools: ToolHost | Iterable[ToolLike] | None,
    *,
    approver: Approver,
    observe: Observer | None,
    tools_in_replay: bool,
) -> Run:
    """Run a plan in a reel."""
    _check_tools(plan, tools, recording=reel.recording)
    host = PythonTools(tools) if isinstance(tools, Iterable) else tools
    journal = reel.journal(plan)
    if journal.recorded is None:
        clock = SystemClock() if reel.recording else InstantClock()
        ports = Ports(reel.endpoint, host or PythonTools(), approver, clock)
        return run(plan, ports, journal=journal, observe=observe)
    tape = reel.replayed_tape()
    rehearsal = Rehearsal(
        journal.recorded,
        endpoint=TapedEndpoint(tape) if tape else None,
        breaks=breaks_in(tape),
        tools=host if tools_in_replay else None,
        allowed=journal.allowed,
    )
    done = run(plan, rehearsal, journal=journal, observe=observe)
    rehearsal.finish()
    journal.check()
    return done


async def arun_in(
    reel: Reel,
    plan: Plan,
    tools: AsyncToolHost | PythonTools | Iterable[ToolLike] | None,
    *,
    approver: AsyncApprover,
    observe: Observer | None,
    tools_in_replay: bool,
) -> Run:
    """The async version of :func:`run_in`."""
    _check_tools(plan, tools, recording=reel.recording)
    host = _awaited(tools)
    journal = reel.journal(plan)
    if journal.recorded is None:
        clock = AsyncSystemClock() if reel.recording else ImmediateClock(InstantClock())
        async with reel.async_endpoint() as live:
            ports = AsyncPorts(live, host or AsyncPythonTools(), approver, clock)
            return await arun(plan, ports, journal=journal, observe=observe)
    tape = reel.replayed_tape()
    rehearsal = AsyncRehearsal(
        journal.recorded,
        endpoint=ImmediateEndpoint(TapedEndpoint(tape)) if tape else None,
        breaks=breaks_in(tape),
        tools=host if tools_in_replay else None,
        allowed=journal.allowed,
    )
    done = await arun(plan, rehearsal, journal=journal, observe=observe)
    rehearsal.finish()
    journal.check()
    return done


class _ThreadedTools:
    """Async wrapper of a blocking tool host."""

    def __init__(self, tools: PythonTools) -> None:
        self._tools = tools

    async def run(self, effect: RunTool) -> ToolReturned:
        return await anyio.to_thread.run_sync(self._tools.run, effect)


def _awaited(tools: AsyncToolHost | PythonTools | Iterable[ToolLike] | None) -> AsyncToolHost | None:
    if isinstance(tools, PythonTools):
        return _ThreadedTools(tools)
    return AsyncPythonTools(tools) if isinstance(tools, Iterable) else tools


def _check_tools(plan: Plan, tools: object, *, recording: bool) -> None:
    if recording and tools is None and plan.tools.definitions:
        names = ", ".join(plan.tools.names)
        raise ConfigError(f"recording runs the tools of the plan for real ({names}): give them to the run")
