"""Run a plan against a live endpoint on any driver, and record it; Ctrl-C keeps what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self

from toolreel._cli.console import err
from toolreel._cli.errors import STOPPED
from toolreel._cli.live_target import LiveTarget
from toolreel._cli.whole_run import EndedRun
from toolreel._driver import (
    Approver,
    Lap,
    Later,
    Listener,
    Observer,
    Ports,
    Run,
    ToolHost,
    go_on,
    outcome_of,
    retold,
    run,
    speak,
    tell,
)
from toolreel._internal import AdapterError
from toolreel._journal import Recorded
from toolreel._replay import (
    Answered,
    Breaks,
    EventLog,
    Keeping,
    RecordedFiles,
    Rehearsal,
    ResumedFiles,
    check_free,
    check_surface,
)
from toolreel.tools import PythonTools, Router, Toolbox, ToolLike
from toolreel_core._loop import fold
from toolreel_core._plan import Plan
from toolreel_core._protocol import CancelRequested, Completed, Settled, State
from toolreel_core._tools import ToolDefinition, ToolSurface

if TYPE_CHECKING:
    from toolreel._cli.progress import RunFigures
    from toolreel.cassette import Session


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


@dataclass(frozen=True, slots=True)
class LiveSession:
    """Runs plans against a server."""

    target: LiveTarget
    tools: Sequence[ToolLike] = ()
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """Tool hosts by name prefix, such as ``mcp_``; they may be called from any thread."""
    approver: Approver = field(default_factory=Later)
    """Decides about tools that need approval; by default, the run waits there."""
    observe: Observer | None = None
    on_delta: Listener | None = None
    """Receives each chunk of a streamed reply."""
    durable: bool = False
    """Whether each event is synced to disk before the run continues."""
    figures: RunFigures | None = None
    """Follows the run, for the terminal."""

    def run(
        self,
        plan: Plan,
        record: Path | None = None,
        keeping: Keeping = "new",
        earlier: Sequence[Answered] = (),
    ) -> EndedRun:
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
            return EndedRun(ended)
        say_withheld(files.withheld)
        return EndedRun(ended, saved, files.refused, files.left, dropped=not worth)

    def resume(
        self, cassette: Path, others: Sequence[ToolDefinition] = (), say: str | None = None
    ) -> EndedRun:
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
        before = len(recorded.records)
        new, cut = len(log.events) - before, files.journal.cut
        return EndedRun(run, saved, files.refused, files.left, before=before, new=new, cut=cut)

    def check_tools(self, recorded: Recorded, others: Sequence[ToolDefinition]) -> None:
        """Check that the tools equal those of a recorded run.

        :raises toolreel.ReplayMismatch: if they do not
        """
        if recorded.plan.sends_tools:
            check_surface(recorded, ToolSurface((*Toolbox(self.tools).surface.definitions, *others)))

    def go(self, begun: Beginning) -> None:
        """Run to the end (``begun.reached``), or until Ctrl-C or an event that cannot be written.

        Ctrl-C is recorded as a cancellation, unless the run has already ended.
        """
        began, done = monotonic(), len(begun.log.laps)
        try:
            self._perform(begun)
        except KeyboardInterrupt:
            if not isinstance(begun.reached.state.phase, Settled):
                since = (lap.passed_ms or 0 for _, lap in [*begun.log.laps.values()][done:])
                ms = max(0, round((monotonic() - began) * 1000) - sum(since))
                begun.log.record_timed(None, CancelRequested(STOPPED), Lap(ms, ms))
        except AdapterError as error:
            if begun.files is None or error is not begun.files.refused:
                raise
            if not isinstance(begun.reached.state.phase, Settled):  # not recorded: the run can be resumed
                begun.log.events.append(CancelRequested("the recording could not be written"))

    def _perform(self, begun: Beginning) -> None:
        tape, log, observe = begun.tape, begun.log, self.observe
        if self.figures:
            self.figures.begin(begun.plan, begun.state)
            log.watch = self.figures.answered
        with self.target.opened(self.on_delta, tape) as endpoint:
            ports = Ports(endpoint, Router(self.hosts, PythonTools(self.tools)), self.approver)
            if begun.state and begun.said is not None:
                speak(begun.state, begun.said, ports, journal=log, observe=observe)
            elif begun.state:
                go_on(begun.state, ports, journal=log, observe=observe)
            elif begun.before and tape:
                breaks = Breaks(tape.recording)
                rehearsal = Rehearsal(begun.before, endpoint=endpoint, breaks=breaks, live=ports)
                rehearsal.play(begun.plan, journal=log, observe=observe)
                rehearsal.finish()
                tape.finish()
            else:
                run(begun.plan, ports, journal=log, observe=observe)


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
        self._session.go(begun)
        talk.state = begun.reached.state
        return begun.reached

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
