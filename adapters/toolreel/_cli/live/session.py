"""Run a plan against a live endpoint on any driver, and record it; Ctrl-C keeps what was recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from toolreel._cli.live.files import Keeping, RecordedFiles, ResumedFiles
from toolreel._driver.aio import ago_on, arun
from toolreel._driver.performer import AsyncPorts, ImmediateApprover, Later, Ports
from toolreel._driver.ports import Approver, Journal, Listener, Observer, ToolHost, Wanted, tell
from toolreel._driver.run import Run, outcome_of, retold
from toolreel._driver.sync import go_on, run
from toolreel._errors import AdapterError, MissingExtra
from toolreel._journal.record import Recorded
from toolreel._replay.extend import AsyncExtending, Extending
from toolreel._replay.replay import Driver, check_surface, load_trio
from toolreel._replay.replayer import AsyncRehearsal, Rehearsal, breaks_in
from toolreel._replay.run_in_progress import Answered
from toolreel._secrets.known_values import known_secrets
from toolreel.cassette._session import Session
from toolreel.http._endpoint import AsyncHttpEndpoint, HttpEndpoint
from toolreel.tools._python.host import AsyncPythonTools, PythonTools, Toolbox
from toolreel.tools._python.tool import ToolLike
from toolreel.tools._router import AsyncRouter, Router
from toolreel.tools._threads_async import ThreadedTools
from toolreel_core._loop.reducer import fold
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import CancelRequested, Event
from toolreel_core._protocol.outcome import Completed
from toolreel_core._protocol.state import Settled, State
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """The server of a live run."""

    base_url: str
    api_key_env: str | None = None
    timeout: float = 300.0
    """Seconds to wait for a reply, or for the next chunk of a streamed reply."""
    withheld: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further secrets to keep out of recordings, such as credentials of tools, by name."""

    @property
    def secrets(self) -> dict[str, str]:
        """Values to keep out of recordings: the API key, and variables that look like secrets."""
        key = os.environ.get(self.api_key_env or "", "").strip()
        named = {str(self.api_key_env): key} if key else {}
        return known_secrets(os.environ) | named | dict(self.withheld)

    @property
    def timeouts(self) -> httpx.Timeout:
        """The timeouts of one HTTP exchange."""
        return httpx.Timeout(min(30.0, self.timeout), read=self.timeout)


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A live run that has ended, and its files."""

    run: Run
    saved: tuple[Path, ...] = ()
    """The files that were written."""
    refused: AdapterError | None = None
    """Why the recording could not be written."""
    dropped: bool = False
    """Whether the recording was discarded because the run did not complete."""


def run_live(  # noqa: PLR0913 - every choice about a run has its name
    plan: Plan,
    target: LiveTarget,
    tools: Sequence[ToolLike] = (),
    *,
    hosts: Mapping[str, ToolHost] | None = None,
    driver: Driver = "sync",
    approver: Approver | None = None,
    record: Path | None = None,
    keeping: Keeping = "new",
    observe: Observer | None = None,
    on_delta: Listener | None = None,
    earlier: Sequence[Answered] = (),
    durable: bool = False,
) -> LiveRun:
    """Run a plan against an endpoint.

    :param hosts: tool hosts by name prefix, such as ``mcp_``; they may be called from any thread
    :param approver: decides about tools that need approval; without one, the run waits there
    :param record: the cassette to write, ``<name>.yaml``; its journal goes next to it
    :param on_delta: receives each chunk of a streamed reply
    :param keeping: when the recording is written, and whether it may replace existing files
    :param earlier: the events that a fork keeps; the run continues after them, and is recorded as a journal
        only, because the requests before were never sent
    :param durable: fsync each event before the run continues
    :raises AdapterError: before anything is sent, if the endpoint, the tools or the files cannot be used
    :raises toolreel.ReplayMismatch: if the run differs from the recorded one that it extends
    """
    files = RecordedFiles(record, plan, target.secrets, keeping, durable=durable) if record else None
    log = _EventLog(files)
    tape = files.tape if files and not earlier else None
    before = files.before if files else None
    worth = keeping in {"new", "overwrite"}
    try:
        begun = _recorded_beginning(plan, earlier, log, observe) if earlier else None
        session = _Session(
            plan,
            target,
            tools,
            hosts or {},
            approver or Later(),
            tape,
            log,
            observe,
            on_delta,
            begun,
            before,
        )
        ended = _run_session(session, log, driver)
        worth = worth or isinstance(outcome_of(ended), Completed | None)
    finally:
        saved = files.close(keep=worth and bool(log.events)) if files else ()
    return LiveRun(ended, saved, files.refused if files else None, dropped=bool(files) and not worth)


@dataclass(frozen=True, slots=True)
class Resumed:
    """A recorded run that was continued live."""

    run: Run
    before: int
    """Number of recorded events."""
    after: int
    """Number of events now; equal to ``before`` if the run had already ended."""
    saved: tuple[Path, ...]
    cut: Path | None
    """Where an incomplete last line of the journal was moved, if there was one."""


def resume_live(  # noqa: PLR0913 - every choice about a run has its name
    cassette: Path,
    target: LiveTarget,
    tools: Sequence[ToolLike] = (),
    *,
    others: Sequence[ToolDefinition] = (),
    hosts: Mapping[str, ToolHost] | None = None,
    driver: Driver = "sync",
    approver: Approver | None = None,
    observe: Observer | None = None,
    on_delta: Listener | None = None,
    durable: bool = False,
) -> Resumed:
    """Continue a recorded run that was killed or waits, under the plan of its journal.

    :param cassette: the path of its cassette, which need not exist; the journal is next to it
    :param tools: must equal the tools of the recorded run
    :param others: tools that ``hosts`` run, as for :func:`run_live`
    :raises AdapterError: if the journal cannot be continued or written
    :raises toolreel.ReplayMismatch: if the run or the tools differ from the recording
    """
    files = ResumedFiles(cassette, target.secrets, durable=durable)
    recorded, state = files.journal.recorded, files.trace.run.state
    log = _EventLog(files, recorded.events)
    try:
        if not isinstance(state.phase, Settled):
            if recorded.plan.sends_tools:
                check_surface(recorded, ToolSurface((*Toolbox(tools).surface.definitions, *others)))
            plan, decider, given = recorded.plan, approver or Later(), hosts or {}
            session = _Session(plan, target, tools, given, decider, files.tape, log, observe, on_delta, state)
            _run_session(session, log, driver)
    finally:
        saved = files.close()
    run = retold(recorded.plan, log.events)
    return Resumed(run, len(recorded.records), len(log.events), saved, files.journal.cut)


def _recorded_beginning(
    plan: Plan, earlier: Sequence[Answered], log: Journal, observe: Observer | None
) -> State:
    """The state after the kept events, which are written to the journal."""
    for effect, event in earlier:
        log.record(effect, event)
    at = fold(plan, (event for _, event in earlier))
    tell(observe, at.notes)
    return at.state


def _run_session(session: _Session, log: _EventLog, driver: Driver) -> Run:
    """Run a session; Ctrl-C is recorded as a cancellation, unless the run has already ended."""
    try:
        session.on(driver)
    except* KeyboardInterrupt:  # trio raises it in a group if it arrives while connecting
        if not isinstance(retold(session.plan, log.events).state.phase, Settled):
            log.record(None, CancelRequested("interrupted from the keyboard"))
    return retold(session.plan, log.events)


class _EventLog:
    """A journal that keeps the events in memory, and passes them on to the files."""

    def __init__(self, files: RecordedFiles | ResumedFiles | None, before: Sequence[Event] = ()) -> None:
        self.events = [*before]
        self._files = files

    def record(self, effect: Wanted | None, event: Event) -> None:
        self.events.append(event)
        if self._files:
            self._files.record(effect, event)


@dataclass(frozen=True, slots=True)
class _Session:
    """One run, ready for any driver."""

    plan: Plan
    target: LiveTarget
    tools: Sequence[ToolLike]
    hosts: Mapping[str, ToolHost]
    approver: Approver
    tape: Session | None
    journal: Journal
    observe: Observer | None
    on_delta: Listener | None
    begun: State | None
    """The state from which the run continues; ``None`` for a new run."""
    before: Recorded | None = None
    """The recording that is replayed first, if it is extended."""

    def on(self, driver: Driver) -> Run:
        match driver:
            case "sync":
                return self._run()
            case "asyncio":
                import asyncio

                return asyncio.run(self._arun())
            case "trio":
                done: Run = load_trio().run(self._arun)
                return done
            case _:
                assert_never(driver)

    def _run(self) -> Run:
        transport = self.tape.transport() if self.tape else None
        target = self.target
        with HttpEndpoint(
            target.base_url,
            api_key_env=target.api_key_env,
            timeout=target.timeouts,
            stall_timeout=target.timeout,
            on_delta=self.on_delta,
            transport=transport,
        ) as endpoint:
            ports = Ports(endpoint, Router(self.hosts, PythonTools(self.tools)), self.approver)
            if self.begun:
                return go_on(self.begun, ports, journal=self.journal, observe=self.observe)
            if self.before and self.tape:
                breaks = breaks_in(self.tape.recording)
                rehearsal = Rehearsal(self.before, endpoint=endpoint, breaks=breaks)
                extending = Extending(rehearsal, ports)
                done = run(self.plan, extending, journal=self.journal, observe=self.observe)
                rehearsal.finish()
                self.tape.finish()
                return done
            return run(self.plan, ports, journal=self.journal, observe=self.observe)

    async def _arun(self) -> Run:
        transport = self.tape.async_transport() if self.tape else None
        target = self.target
        async with AsyncHttpEndpoint(
            target.base_url,
            api_key_env=target.api_key_env,
            timeout=target.timeouts,
            stall_timeout=target.timeout,
            on_delta=self.on_delta,
            transport=transport,
        ) as endpoint:
            approver = ImmediateApprover(self.approver)
            hosts = {prefix: ThreadedTools(host) for prefix, host in self.hosts.items()}
            tools = AsyncRouter(hosts, AsyncPythonTools(self.tools))
            ports = AsyncPorts(endpoint, tools, approver)
            if self.begun:
                return await ago_on(self.begun, ports, journal=self.journal, observe=self.observe)
            if self.before and self.tape:
                breaks = breaks_in(self.tape.recording)
                rehearsal = AsyncRehearsal(self.before, endpoint=endpoint, breaks=breaks)
                extending = AsyncExtending(rehearsal, ports)
                done = await arun(self.plan, extending, journal=self.journal, observe=self.observe)
                rehearsal.finish()
                self.tape.finish()
                return done
            return await arun(self.plan, ports, journal=self.journal, observe=self.observe)
