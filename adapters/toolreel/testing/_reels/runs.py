"""The runs of a reel: against the live server while recording, otherwise against the recording."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolreel._driver.aio import arun, aspeak
from toolreel._driver.clock.clocks import AsyncSystemClock, InstantClock, SystemClock
from toolreel._driver.performer import AsyncPorts, ImmediateClock, ImmediateEndpoint, Ports
from toolreel._driver.ports import Approver, AsyncApprover, AsyncClock, AsyncToolHost, Observer, ToolHost
from toolreel._driver.run_result import Run
from toolreel._driver.sync import run, speak
from toolreel._internal.errors import MissingExtra
from toolreel._replay.journal_performer import AsyncRehearsal, Rehearsal, breaks_in
from toolreel._replay.taped_endpoint import TapedEndpoint
from toolreel.testing._reels.reel_journal import ReelJournal, naming_exchange
from toolreel.tools._python.tools import AsyncPythonTools, PythonTools, ToolLike
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
    performer = _performer(reel, journal, host, approver, tools_in_replay=tools_in_replay)
    return _reached(reel, Talk(run(plan, performer, journal=journal, observe=observe), journal, performer))


def speak_in(reel: Reel, to: Run, content: str, observe: Observer | None) -> Run:
    """Say something to a run of a reel."""
    talk = _talk(reel, to)
    performer = talk.performer
    if isinstance(performer, _AsyncLive | AsyncRehearsal):
        raise ConfigError("reel.speak: the run is async; write await reel.aspeak(run, content)")
    if isinstance(performer, Rehearsal):
        performer.hear()
    with naming_exchange(talk.journal):
        done = speak(to, content, performer, journal=talk.journal, observe=observe)
        return _reached(reel, replace(talk, run=Run(done.state, to.notes + done.notes)))


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
    performer = _async_performer(reel, journal, host, approver, tools_in_replay=tools_in_replay)
    async with _live(reel, performer) as live:
        done = await arun(plan, live, journal=journal, observe=observe)
    return _reached(reel, Talk(done, journal, performer))


async def aspeak_in(reel: Reel, to: Run, content: str, observe: Observer | None) -> Run:
    """The async version of :func:`speak_in`."""
    talk = _talk(reel, to)
    performer = talk.performer
    if isinstance(performer, Ports | Rehearsal):
        raise ConfigError("reel.aspeak: the run is not async; write reel.speak(run, content)")
    if isinstance(performer, AsyncRehearsal):
        performer.hear()
    with naming_exchange(talk.journal):
        async with _live(reel, performer) as live:
            done = await aspeak(to, content, live, journal=talk.journal, observe=observe)
        return _reached(reel, replace(talk, run=Run(done.state, to.notes + done.notes)))


@dataclass(frozen=True, slots=True)
class Talk:
    """A run of a reel, and what goes on with it."""

    run: Run
    journal: ReelJournal
    performer: Ports | Rehearsal | _AsyncLive | AsyncRehearsal


@dataclass(frozen=True, slots=True)
class _AsyncLive:
    """Ports but for the endpoint, whose connections belong to one event loop."""

    tools: AsyncToolHost
    approver: AsyncApprover
    clock: AsyncClock


def _talk(reel: Reel, run: Run) -> Talk:
    found = [talk for talk in reel.talks if talk.run.state is run.state]
    if not found:
        raise ConfigError("the run is none of this reel; give one that reel.run or reel.speak returned")
    return found[-1]


def _reached(reel: Reel, talk: Talk) -> Run:
    """The run, after checks of a replay: the recording goes on only with what the user says."""
    if isinstance(talk.performer, Rehearsal | AsyncRehearsal):
        goes_on = talk.performer.awaits_user
        if not goes_on:
            talk.performer.finish()
        talk.journal.check(whole=not goes_on)
    reel.talks.append(talk)
    return talk.run


def _performer(
    reel: Reel, journal: ReelJournal, host: ToolHost | None, approver: Approver, *, tools_in_replay: bool
) -> Ports | Rehearsal:
    if journal.recorded is None:
        clock = SystemClock() if reel.recording else InstantClock()
        return Ports(reel.endpoint, host or PythonTools(), approver, clock)
    tape = reel.replayed_tape()
    return Rehearsal(
        journal.recorded,
        endpoint=TapedEndpoint(tape) if tape else None,
        breaks=breaks_in(tape),
        tools=host if tools_in_replay else None,
        allowed=journal.allowed,
    )


def _async_performer(
    reel: Reel,
    journal: ReelJournal,
    host: AsyncToolHost | None,
    approver: AsyncApprover,
    *,
    tools_in_replay: bool,
) -> _AsyncLive | AsyncRehearsal:
    if journal.recorded is None:
        clock = AsyncSystemClock() if reel.recording else ImmediateClock(InstantClock())
        return _AsyncLive(host or AsyncPythonTools(), approver, clock)
    tape = reel.replayed_tape()
    return AsyncRehearsal(
        journal.recorded,
        endpoint=ImmediateEndpoint(TapedEndpoint(tape)) if tape else None,
        breaks=breaks_in(tape),
        tools=host if tools_in_replay else None,
        allowed=journal.allowed,
    )


@asynccontextmanager
async def _live(
    reel: Reel, performer: _AsyncLive | AsyncRehearsal
) -> AsyncGenerator[AsyncPorts | AsyncRehearsal]:
    """The performer; while recording, with an endpoint that is open inside."""
    if isinstance(performer, AsyncRehearsal):
        yield performer
        return
    async with reel.async_endpoint() as endpoint:
        yield AsyncPorts(endpoint, performer.tools, performer.approver, performer.clock)


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
