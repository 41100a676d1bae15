"""Run a plan against a live endpoint on any driver, and record it; Ctrl-C keeps what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol, Self

from toolreel._cli.console import err
from toolreel._cli.errors import STOPPED
from toolreel._cli.live_target import LiveTarget
from toolreel._driver.aio import ago_on, arun, aspeak
from toolreel._driver.performer import AsyncPorts, ImmediateApprover, Ports
from toolreel._driver.ports import Approver, Listener, Observer, ToolHost, Wanted, tell
from toolreel._driver.run_result import Run, outcome_of, retold
from toolreel._driver.sync import go_on, run, speak
from toolreel._driver.timing import NOT_MEASURED, Lap
from toolreel._driver.user.approvers import Later
from toolreel._internal.errors import AdapterError
from toolreel._journal.format import Recorded
from toolreel._replay.fork import EventLog
from toolreel._replay.journal_performer import AsyncRehearsal, Rehearsal, breaks_in
from toolreel._replay.recorded_files import Keeping, RecordedFiles, ResumedFiles, check_free
from toolreel._replay.replay import Driver, check_surface, run_on
from toolreel._replay.run_underway import Answered
from toolreel.tools._python.host import AsyncPythonTools, PythonTools, Toolbox
from toolreel.tools._python.tool import ToolLike
from toolreel.tools._router import AsyncRouter, Router
from toolreel.tools._threads_async import ThreadedTools
from toolreel_core._loop.reducer import fold
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import CancelRequested, Event
from toolreel_core._protocol.outcome import Completed
from toolreel_core._protocol.state import Settled, State
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition

if TYPE_CHECKING:
    from toolreel.cassette._session import Session


class RunWatcher(Protocol):
    """Is told of each event of a live run."""

    def begin(self, plan: Plan, state: State | None) -> None:
        """A run begins, or goes on from a state."""
        ...

    def answered(self, effect: Wanted | None, event: Event, lap: Lap) -> None:
        """An event is in the journal, with the effect that it answers and its times."""
        ...


class WatchedLog:
    """An event log that tells a watcher of each event, once it is recorded."""

    def __init__(self, log: EventLog, watcher: RunWatcher) -> None:
        self._log, self._watcher = log, watcher

    def withhold(self, secrets: Mapping[str, str]) -> None:
        """Pass on secrets that must not be written."""
        self._log.withhold(secrets)

    def record(self, effect: Wanted | None, event: Event) -> Event:
        """Record an event without times."""
        kept = self._log.record(effect, event)
        self._watcher.answered(effect, kept, NOT_MEASURED)
        return kept

    def record_timed(self, effect: Wanted | None, event: Event, lap: Lap) -> Event:
        """Record an event with its times."""
        kept = self._log.record_timed(effect, event, lap)
        self._watcher.answered(effect, kept, lap)
        return kept


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
    left: Path | None = None
    """The unfinished journal that was left, if the recording could not be written."""


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
    refused: AdapterError | None = None
    """Why an event could not be written, which ended the run."""
    left: Path | None = None
    """The unfinished journal that was left, if an event could not be written."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a live run begins, and its recording."""

    plan: Plan
    log: EventLog
    tape: Session | None
    state: State | None = None
    """The state from which the run continues; ``None`` for a new run."""
    before: Recorded | None = None
    """The recording that is replayed first, if it is extended."""
    files: RecordedFiles | ResumedFiles | None = None
    """The files of the recording."""
    said: str | None = None
    """What the user says to the run that continues; ``None`` if nothing."""

    @property
    def reached(self) -> Run:
        """The run so far."""
        return retold(self.plan, self.log.events, self.log.laps)

    def is_refused(self, error: Exception) -> bool:
        """Whether an error says that an event could not be written; async drivers raise it in a group."""
        refused = self.files.refused if self.files else None
        return refused is not None and (error is refused or isinstance(error, ExceptionGroup))


@dataclass(frozen=True, slots=True)
class LiveSession:
    """Runs plans against a server, on any driver."""

    target: LiveTarget
    tools: Sequence[ToolLike] = ()
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """Tool hosts by name prefix, such as ``mcp_``; they may be called from any thread."""
    driver: Driver = "sync"
    approver: Approver = field(default_factory=Later)
    """Decides about tools that need approval; by default, the run waits there."""
    observe: Observer | None = None
    on_delta: Listener | None = None
    """Receives each chunk of a streamed reply."""
    durable: bool = False
    """Whether each event is synced to disk before the run continues."""
    watcher: RunWatcher | None = None
    """Is told of each event, for the terminal."""

    def run(
        self,
        plan: Plan,
        record: Path | None = None,
        keeping: Keeping = "new",
        earlier: Sequence[Answered] = (),
    ) -> LiveRun:
        """Run a plan.

        :param record: the cassette to write, ``<name>.yaml``; its journal goes next to it
        :param keeping: when the recording is written, and whether it may replace existing files
        :param earlier: the events that a fork keeps; the run continues after them, and is recorded as a
            journal only, because the requests before were never sent
        An event that cannot be written ends the run before its next effect, with ``Cancelled``.

        :raises AdapterError: before anything is sent, if the endpoint, the tools or the files cannot be used
        :raises toolreel.ReplayMismatch: if the run differs from the recorded one that it extends
        """
        secrets = self.target.secrets
        if record and (notice := self.target.key_notice):
            err.print(notice, style="yellow")
        files = RecordedFiles(record, plan, secrets, keeping, durable=self.durable) if record else None
        log = EventLog(files)
        worth, over = keeping in {"new", "overwrite"}, False
        try:
            for effect, event in earlier:
                log.record(effect, event)
            state = None
            if earlier:
                at = fold(plan, log.events)
                tell(self.observe, at.notes)
                state = at.state
            tape, before = (files.tape, files.before) if files and not earlier else (None, None)
            begun = Beginning(plan, log, tape, state, before, files)
            self.go(begun)
            ended, over = begun.reached, True
            worth = worth or isinstance(outcome_of(ended), Completed | None)
        finally:
            keep = worth and bool(log.events)
            saved = files.close(keep=keep, ended=over) if files else ()
        if files is None:
            return LiveRun(ended)
        say_withheld(files.withheld)
        return LiveRun(ended, saved, files.refused, not worth, files.left)

    def resume(
        self, cassette: Path, others: Sequence[ToolDefinition] = (), say: str | None = None
    ) -> Resumed:
        """Continue a recorded run that was killed or waits, under the plan of its journal.

        The tools must equal those of the recorded run.

        :param cassette: the path of its cassette, which need not exist; the journal is next to it
        :param say: what the user says next; then a run that has ended goes on, too
        :raises AdapterError: if the journal cannot be continued or written
        :raises toolreel.ReplayMismatch: if the run or the tools differ from the recording
        """
        if notice := self.target.key_notice:
            err.print(notice, style="yellow")
        files = ResumedFiles(cassette, self.target.secrets, durable=self.durable)
        recorded, state = files.journal.recorded, files.trace.run.state
        log = EventLog(files, recorded.events)
        try:
            if say is not None or not isinstance(state.phase, Settled):
                self.check_tools(recorded, others)
                self.go(Beginning(recorded.plan, log, files.tape, state, files=files, said=say))
        finally:
            saved = files.close()
        say_withheld(files.withheld)
        run = retold(recorded.plan, log.events, log.laps)
        run = replace(run, timing=files.trace.run.timing + run.timing)
        counts = (len(recorded.records), len(log.events))
        return Resumed(run, *counts, saved, files.journal.cut, files.refused, files.left)

    def check_tools(self, recorded: Recorded, others: Sequence[ToolDefinition]) -> None:
        """Check that the tools equal those of a recorded run.

        :raises toolreel.ReplayMismatch: if they do not
        """
        if recorded.plan.sends_tools:
            check_surface(recorded, ToolSurface((*Toolbox(self.tools).surface.definitions, *others)))

    def go(self, begun: Beginning) -> Run | None:
        """Run to the end; ``None`` after Ctrl-C, or if an event could not be written (``begun.reached``)."""
        try:
            return self._interruptible(begun)
        except Exception as error:
            if not begun.is_refused(error):
                raise
            if not isinstance(begun.reached.state.phase, Settled):  # not recorded: the run can be resumed
                begun.log.events.append(CancelRequested("the recording could not be written"))
        return None

    def _interruptible(self, begun: Beginning) -> Run | None:
        """Ctrl-C is recorded as a cancellation, unless the run has already ended."""
        began, told = monotonic(), len(begun.log.laps)
        try:
            return run_on(self.driver, partial(self._run, begun), partial(self._arun, begun))
        except* KeyboardInterrupt:  # trio raises it in a group if it arrives while connecting
            if not isinstance(begun.reached.state.phase, Settled):
                since = (lap.passed_ms or 0 for _, lap in [*begun.log.laps.values()][told:])
                ms = max(0, round((monotonic() - began) * 1000) - sum(since))
                begun.log.record_timed(None, CancelRequested(STOPPED), Lap(ms, ms))
        return None

    def _run(self, begun: Beginning) -> Run:
        target, tape, journal = self.target, begun.tape, self._journal(begun)
        with target.opened(self.on_delta, tape) as endpoint:
            ports = Ports(endpoint, Router(self.hosts, PythonTools(self.tools)), self.approver)
            if begun.state and begun.said is not None:
                return speak(begun.state, begun.said, ports, journal=journal, observe=self.observe)
            if begun.state:
                return go_on(begun.state, ports, journal=journal, observe=self.observe)
            if not (begun.before and tape):
                return run(begun.plan, ports, journal=journal, observe=self.observe)
            breaks = breaks_in(tape.recording)
            rehearsal = Rehearsal(begun.before, endpoint=endpoint, breaks=breaks, live=ports)
            done = rehearsal.play(begun.plan, journal=journal, observe=self.observe)
            rehearsal.finish()
            tape.finish()
            return done

    async def _arun(self, begun: Beginning) -> Run:
        target, tape, journal = self.target, begun.tape, self._journal(begun)
        async with target.aopened(self.on_delta, tape) as endpoint:
            hosts = {prefix: ThreadedTools(host) for prefix, host in self.hosts.items()}
            tools = AsyncRouter(hosts, AsyncPythonTools(self.tools))
            ports = AsyncPorts(endpoint, tools, ImmediateApprover(self.approver))
            if begun.state and begun.said is not None:
                return await aspeak(begun.state, begun.said, ports, journal=journal, observe=self.observe)
            if begun.state:
                return await ago_on(begun.state, ports, journal=journal, observe=self.observe)
            if not (begun.before and tape):
                return await arun(begun.plan, ports, journal=journal, observe=self.observe)
            breaks = breaks_in(tape.recording)
            rehearsal = AsyncRehearsal(begun.before, endpoint=endpoint, breaks=breaks, live=ports)
            done = await rehearsal.play(begun.plan, journal=journal, observe=self.observe)
            rehearsal.finish()
            tape.finish()
            return done

    def _journal(self, begun: Beginning) -> EventLog | WatchedLog:
        if self.watcher is None:
            return begun.log
        self.watcher.begin(begun.plan, begun.state)
        return WatchedLog(begun.log, self.watcher)


def say_withheld(places: Sequence[str]) -> None:
    """Tell which results were withheld."""
    for place in places:
        err.print(f"A result was withheld from the model and the recording: {place}", style="yellow")


@dataclass(slots=True)
class _Talk:
    """A conversation that has begun."""

    plan: Plan
    log: EventLog
    files: RecordedFiles | ResumedFiles | None
    state: State | None = None
    """The state after the latest exchange."""


class LiveChat:
    """Asks a server message by message; a recording is written at the end.

    :param session: the server, the tools and who approves
    :param begin: the plan of the conversation, made from its first message
    :param record: the cassette to write, ``<name>.yaml``; its journal goes next to it
    """

    def __init__(
        self,
        session: LiveSession,
        begin: Callable[[str], Plan],
        record: Path | None = None,
        keeping: Keeping = "new",
    ) -> None:
        self._session = session
        self._begin = begin
        self._record = record
        self._keeping: Keeping = keeping
        self._talk: _Talk | None = None
        if record and keeping == "new":
            check_free(record)  # before the user has typed anything
        if record and (notice := session.target.key_notice):
            err.print(notice, style="yellow")

    @classmethod
    def continued(cls, session: LiveSession, record: Path, others: Sequence[ToolDefinition]) -> Self:
        """Go on with a recorded conversation, under the plan of its journal.

        :raises AdapterError: if the journal cannot be continued
        :raises toolreel.ReplayMismatch: if the tools differ from the recorded ones
        """
        files = ResumedFiles(record, session.target.secrets, durable=session.durable)
        recorded = files.journal.recorded
        try:
            session.check_tools(recorded, others)
        except BaseException:
            files.close()
            raise
        chat = cls(session, lambda _: recorded.plan, record, "overwrite")
        log = EventLog(files, recorded.events)
        chat._talk = _Talk(recorded.plan, log, files, files.trace.run.state)
        return chat

    @property
    def state(self) -> State | None:
        """The state after the latest exchange; ``None`` before the first."""
        return self._talk.state if self._talk else None

    @property
    def refused(self) -> AdapterError | None:
        """Why the recording could not be written, which ended the conversation."""
        return self._talk.files.refused if self._talk and self._talk.files else None

    @property
    def left(self) -> Path | None:
        """The unfinished journal that was left, if the recording could not be written."""
        return self._talk.files.left if self._talk and self._talk.files else None

    def ask(self, content: str) -> Run:
        """One exchange: what the user says, and all up to its end. Ctrl-C cancels it."""
        talk = self._talk = self._talk or self._opened(content)
        tape = talk.files.tape if talk.files else None
        said = None if talk.state is None else content
        begun = Beginning(talk.plan, talk.log, tape, talk.state, files=talk.files, said=said)
        run = self._session.go(begun) or begun.reached
        talk.state = run.state
        return run

    def close(self) -> tuple[Path, ...]:
        """Write the recording; returns its files."""
        files = self._talk.files if self._talk else None
        if files is None:
            return ()
        saved = files.close(keep=True, ended=False) if isinstance(files, RecordedFiles) else files.close()
        say_withheld(files.withheld)
        return saved

    def _opened(self, content: str) -> _Talk:
        plan, secrets, durable = self._begin(content), self._session.target.secrets, self._session.durable
        path = self._record
        files = RecordedFiles(path, plan, secrets, self._keeping, durable=durable) if path else None
        return _Talk(plan, EventLog(files), files)
