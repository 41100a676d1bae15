"""A reel: the recording of one test, which is replayed or recorded.

The pytest plugin gives one to every test that asks for it (:mod:`toolreel.testing._pytest_plugin`).
All requests to models go through the reel: with :meth:`Reel.run`, an endpoint, or a transport for another
HTTP client.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import assert_never

from toolreel._driver.aio import arun
from toolreel._driver.performer import (
    AsyncLater,
    AsyncPorts,
    AsyncSystemClock,
    ImmediateClock,
    ImmediateEndpoint,
    InstantClock,
    Later,
    Ports,
    SystemClock,
)
from toolreel._driver.ports import Approver, AsyncApprover, AsyncToolHost, Observer, ToolHost
from toolreel._driver.run import Run
from toolreel._driver.sync import run
from toolreel._errors import MissingExtra
from toolreel._journal.record import read_journal
from toolreel._replay.replay import Driver, load_trio
from toolreel._replay.replayer import AsyncRehearsal, Rehearsal
from toolreel.testing._files import ReelFiles
from toolreel.testing._journal import ReelJournal
from toolreel.testing._tape import LiveSide, ReelTape
from toolreel.tools._python.host import AsyncPythonTools, PythonTools
from toolreel.tools._python.tool import ToolLike
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned

try:
    import anyio.to_thread
except ImportError:
    raise MissingExtra.of("http", "anyio") from None


class Reel(ReelTape):
    """The recording of one test: a cassette, and a journal per run."""

    def __init__(self, files: ReelFiles, live: LiveSide | None = None, *, recording: bool = False) -> None:
        super().__init__(files, live, recording=recording)
        self._journals: list[ReelJournal] = []

    def journal(self, plan: Plan) -> ReelJournal:
        """The journal of the next run, for a driver of your own; checked at the end of the test."""
        path = self.files.journal(len(self._journals) + 1)
        self.check_there()
        recorded = read_journal(path) if not self.recording and path.exists() else None
        self._journals.append(ReelJournal(plan, path, recorded))
        return self._journals[-1]

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
        if journal.recorded is None:
            clock = SystemClock() if self.recording else InstantClock()
            ports = Ports(self.endpoint, host or PythonTools(), approver or Later(), clock)
            return run(plan, ports, journal=journal, observe=observe)
        rehearsal = Rehearsal(
            journal.recorded,
            endpoint=self.taped,
            breaks=self.breaks,
            tools=host if tools_in_replay else None,
        )
        done = run(plan, rehearsal, journal=journal, observe=observe)
        rehearsal.finish()
        journal.check()
        return done

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
        host = _awaited(tools)
        journal = self.journal(plan)
        if journal.recorded is None:
            clock = AsyncSystemClock() if self.recording else ImmediateClock(InstantClock())
            async with self.async_endpoint() as live:
                ports = AsyncPorts(live, host or AsyncPythonTools(), approver or AsyncLater(), clock)
                return await arun(plan, ports, journal=journal, observe=observe)
        taped = self.taped
        rehearsal = AsyncRehearsal(
            journal.recorded,
            endpoint=ImmediateEndpoint(taped) if taped else None,
            breaks=self.breaks,
            tools=host if tools_in_replay else None,
        )
        done = await arun(plan, rehearsal, journal=journal, observe=observe)
        rehearsal.finish()
        journal.check()
        return done

    def finish(self) -> None:
        """End the test: fail if the replay differs from the recording, or did not use all of it.

        :raises toolreel.ReplayMismatch: while replaying; names the first difference
        """
        for journal in self._journals:
            journal.check()
        super().finish()
        over = self.files.journals[len(self._journals) :]
        if self._journals and over and not self.recording:
            raise ReplayMismatch(f"{over[0]}: was recorded, but the test had only {len(self._journals)} runs")

    def save(self) -> tuple[Path, ...]:
        """Write the recording completely or not at all; return the paths.

        :raises SecretFound: if it would contain a secret; nothing is written
        """
        for journal in self._journals:
            journal.refuse_secrets(self.live.secrets)
        tape = super().save()
        for stale in self.files.journals[len(self._journals) :]:
            stale.unlink()
        for journal in self._journals:
            journal.save(self.live.secrets)
        return (*tape, *(journal.path for journal in self._journals))


def rerun(plan: Plan, files: ReelFiles, *, driver: Driver = "sync", observe: Observer | None = None) -> Run:
    """Run a plan against a recording, without network; tool results and approvals come from the journal.

    :raises toolreel.ReplayMismatch: if the run differs from the recording
    :raises AdapterError: if there is no recording, or it cannot be read
    """
    reel = Reel(files)
    match driver:
        case "sync":
            done = reel.run(plan, observe=observe)
        case "asyncio":
            import asyncio

            done = asyncio.run(reel.arun(plan, observe=observe))
        case "trio":
            done = load_trio().run(partial(reel.arun, plan, observe=observe))
        case _:
            assert_never(driver)
    reel.finish()
    reel.close()
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
