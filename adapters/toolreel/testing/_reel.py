"""A reel: the recording of one test, which is replayed or recorded, and the runs of the test.

The pytest plugin gives one to every test that asks for it (:mod:`toolreel.testing._pytest_plugin`).
All requests to models go through the reel: with :meth:`Reel.run`, an endpoint, or a transport for another
HTTP client.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from toolreel._driver import (
    Approver,
    AsyncApprover,
    AsyncClock,
    AsyncLater,
    AsyncPorts,
    AsyncSystemClock,
    AsyncToolHost,
    ImmediateClock,
    ImmediateEndpoint,
    InstantClock,
    Later,
    Observer,
    Ports,
    Run,
    SystemClock,
    ToolHost,
    arun,
    aspeak,
    run,
    speak,
)
from toolreel._replay import AsyncRehearsal, Driver, Rehearsal, TapedEndpoint, run_on
from toolreel.cassette import Vary
from toolreel.testing._recording_paths import ReelFiles
from toolreel.testing._reel_recording import LiveSide, ReelJournal, ReelRecording, naming_exchange
from toolreel.tools import AsyncPythonTools, PythonTools, ThreadedTools, ToolLike
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Plan

if TYPE_CHECKING:
    from toolreel._agent import Agent, Value_co
    from toolreel.testing._agents import ReelAgent


@dataclass(frozen=True, slots=True)
class _Talk:
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


class Reel(ReelRecording):
    """The recording of one test: a cassette, and a journal per run.

    The test brings its own plan. Requests are compared with the cassette and effects by their fingerprints,
    so a changed setting that changes none of them is not drift.

    :param recording: whether to record; otherwise the recording is replayed
    :param vary: what may differ between recorded and new requests, besides the rules in the recording; each
        rule has to fit a request of the test
    :param shared: rules for other tests too, which need not fit a request of this one
    """

    def __init__(
        self,
        files: ReelFiles,
        live: LiveSide | None = None,
        *,
        recording: bool = False,
        vary: Sequence[Vary] = (),
        shared: Sequence[Vary] = (),
    ) -> None:
        super().__init__(files, live, recording=recording, vary=vary, shared=shared)
        self._talks = list[_Talk]()

    def agent(self, agent: Agent[Value_co]) -> ReelAgent[Value_co]:
        """The agent, with runs that go through the reel: ``reel.agent(AGENT).run("How many pins?")``.

        Replies to its runs, decisions and streams belong to the same recording. While recording, requests go
        to the server of the reel, without one to that of the agent. Tools and ``approve`` are asked in a
        replay, too.

        :raises ConfigError: if the agent has an endpoint of its own
        """
        from toolreel.testing._agents import ReelAgent  # most reels have none

        return ReelAgent(agent, self)

    def run(
        self,
        plan: Plan,
        tools: ToolHost | Iterable[ToolLike] | None = None,
        *,
        approver: Approver | None = None,
        observe: Observer | None = None,
        tools_in_replay: bool = True,
    ) -> Run:
        """Run a plan against the live server while recording, otherwise against the recording.

        :param tools: a host, or functions; without any, a replay takes results from the journal
        :param approver: approves calls while recording; a replay takes decisions from the journal
        :param tools_in_replay: whether a replay executes tools; use false for tools with side effects
        :raises toolreel.ReplayMismatch: if the run differs from the recording
        """
        _check_tools(plan, tools, recording=self.recording)
        host = PythonTools(tools) if isinstance(tools, Iterable) else tools
        journal = self.journal(plan)
        performer = _performer(self, journal, host, approver or Later(), tools_in_replay=tools_in_replay)
        return self._check_reached(
            _Talk(run(plan, performer, journal=journal, observe=observe), journal, performer)
        )

    async def arun(
        self,
        plan: Plan,
        tools: AsyncToolHost | PythonTools | Iterable[ToolLike] | None = None,
        *,
        approver: AsyncApprover | None = None,
        observe: Observer | None = None,
        tools_in_replay: bool = True,
    ) -> Run:
        """The async version of :meth:`run`, for asyncio and trio."""
        _check_tools(plan, tools, recording=self.recording)
        journal = self.journal(plan)
        performer = _async_performer(
            self, journal, _async_tools(tools), approver or AsyncLater(), tools_in_replay=tools_in_replay
        )
        async with _live_performer(self, performer) as live:
            done = await arun(plan, live, journal=journal, observe=observe)
        return self._check_reached(_Talk(done, journal, performer))

    def speak(self, run: Run, content: str, *, observe: Observer | None = None) -> Run:
        """Say something to a run of this reel: it begins the next exchange, in the same journal.

        :param run: as :meth:`run` or :meth:`speak` returned it; tools and approver are those of :meth:`run`
        :raises toolreel.ReplayMismatch: if the exchange differs from the recording; names it
        """
        talk = self._talk_of(run)
        performer = talk.performer
        if isinstance(performer, _AsyncLive | AsyncRehearsal):
            raise ConfigError("reel.speak: the run is async; write await reel.aspeak(run, content)")
        if isinstance(performer, Rehearsal):
            performer.next_message()
        with naming_exchange(talk.journal):
            done = speak(run, content, performer, journal=talk.journal, observe=observe)
            return self._check_reached(replace(talk, run=Run(done.state, run.notes + done.notes)))

    async def aspeak(self, run: Run, content: str, *, observe: Observer | None = None) -> Run:
        """The async version of :meth:`speak`."""
        talk = self._talk_of(run)
        performer = talk.performer
        if isinstance(performer, Ports | Rehearsal):
            raise ConfigError("reel.aspeak: the run is not async; write reel.speak(run, content)")
        if isinstance(performer, AsyncRehearsal):
            performer.next_message()
        with naming_exchange(talk.journal):
            async with _live_performer(self, performer) as live:
                done = await aspeak(run, content, live, journal=talk.journal, observe=observe)
            return self._check_reached(replace(talk, run=Run(done.state, run.notes + done.notes)))

    def _talk_of(self, run: Run) -> _Talk:
        found = [talk for talk in self._talks if talk.run.state is run.state]
        if not found:
            raise ConfigError("the run is none of this reel; give one that reel.run or reel.speak returned")
        return found[-1]

    def _check_reached(self, talk: _Talk) -> Run:
        """The run, after checks of a replay: the recording goes on only with what the user says."""
        if isinstance(talk.performer, Rehearsal | AsyncRehearsal):
            goes_on = talk.performer.awaits_user
            if not goes_on:
                talk.performer.finish()
            talk.journal.check(whole=not goes_on)
        self._talks.append(talk)
        return talk.run


def rerun(plan: Plan, files: ReelFiles, *, driver: Driver = "sync", observe: Observer | None = None) -> Run:
    """Run a plan against a recording, without network; tool results and approvals come from the journal.

    :raises toolreel.ReplayMismatch: if the run differs from the recording
    :raises AdapterError: if there is no recording, or it cannot be read
    """
    reel = Reel(files)
    done = run_on(driver, partial(reel.run, plan, observe=observe), partial(reel.arun, plan, observe=observe))
    reel.finish()
    reel.close()
    return done


def _performer(
    reel: ReelRecording,
    journal: ReelJournal,
    host: ToolHost | None,
    approver: Approver,
    *,
    tools_in_replay: bool,
) -> Ports | Rehearsal:
    if journal.recorded is None:
        clock = SystemClock() if reel.recording else InstantClock()
        return Ports(reel.endpoint, host or PythonTools(), approver, clock)
    tape = reel.replayed_tape()
    return Rehearsal(
        journal.recorded,
        endpoint=TapedEndpoint(tape) if tape else None,
        tape=tape,
        tools=host if tools_in_replay else None,
        allowed=journal.allowed,
    )


def _async_performer(
    reel: ReelRecording,
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
        tape=tape,
        tools=host if tools_in_replay else None,
        allowed=journal.allowed,
    )


@asynccontextmanager
async def _live_performer(
    reel: ReelRecording, performer: _AsyncLive | AsyncRehearsal
) -> AsyncGenerator[AsyncPorts | AsyncRehearsal]:
    """The performer; while recording, with an endpoint that is open inside."""
    if isinstance(performer, AsyncRehearsal):
        yield performer
        return
    async with reel.async_endpoint() as endpoint:
        yield AsyncPorts(endpoint, performer.tools, performer.approver, performer.clock)


def _async_tools(tools: AsyncToolHost | PythonTools | Iterable[ToolLike] | None) -> AsyncToolHost | None:
    if isinstance(tools, PythonTools):
        return ThreadedTools(tools)
    return AsyncPythonTools(tools) if isinstance(tools, Iterable) else tools


def _check_tools(plan: Plan, tools: object, *, recording: bool) -> None:
    if recording and tools is None and plan.tools.definitions:
        names = ", ".join(plan.tools.names)
        raise ConfigError(f"recording runs the tools of the plan for real ({names}): give them to the run")
