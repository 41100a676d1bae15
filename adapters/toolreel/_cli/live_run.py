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


@dataclass(slots=True)
class _Live:
    """A run, or a conversation, and its recording."""

    plan: Plan
    log: EventLog
    files: RecordedFiles | ResumedFiles | None
    state: State | None = None
    """The state from which it continues; ``None`` at the beginning."""

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
        live, worth, over = _Live(plan, EventLog(files), files), keeping in {"new", "overwrite"}, False
        try:
            for effect, event in earlier:
                live.log.record(effect, event)
            if earlier:
                at = fold(plan, live.log.events)
                tell(self.observe, at.notes)
                live.state = at.state
            self.go(live, tape=files.tape if files and not earlier else None)
            ended, over = live.reached, True
            worth = worth or isinstance(outcome_of(ended), Completed | None)
        finally:
            keep = worth and bool(live.log.events)
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
                self.go(_Live(recorded.plan, log, files, state), tape=files.tape, said=say)
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

    def go(self, live: _Live, *, tape: Session | None, said: str | None = None) -> None:
        """Run to the end (``live.reached``), or until Ctrl-C or an event that cannot be written.

        Ctrl-C is recorded as a cancellation, unless the run has already ended.

        :param said: what the user says to the run that continues
        """
        began, done = monotonic(), len(live.log.laps)
        try:
            self._perform_run(live, tape, said)
        except KeyboardInterrupt:
            if not isinstance(live.reached.state.phase, Settled):
                since = (lap.passed_ms or 0 for _, lap in [*live.log.laps.values()][done:])
                ms = max(0, round((monotonic() - began) * 1000) - sum(since))
                live.log.record_timed(None, CancelRequested(STOPPED), Lap(ms, ms))
        except AdapterError as error:
            if live.files is None or error is not live.files.refused:
                raise
            if not isinstance(live.reached.state.phase, Settled):  # not recorded: the run can be resumed
                live.log.events.append(CancelRequested("the recording could not be written"))

    def _perform_run(self, live: _Live, tape: Session | None, said: str | None) -> None:
        log, observe = live.log, self.observe
        if self.figures:
            self.figures.begin(live.plan, live.state)
            log.watch = self.figures.answered
        before = live.files.before if isinstance(live.files, RecordedFiles) and tape else None
        with self.target.opened(self.on_delta, tape) as endpoint:
            ports = Ports(endpoint, Router(self.hosts, PythonTools(self.tools)), self.approver)
            if live.state and said is not None:
                speak(live.state, said, ports, journal=log, observe=observe)
            elif live.state:
                go_on(live.state, ports, journal=log, observe=observe)
            elif before and tape:
                rehearsal = Rehearsal(before, endpoint=endpoint, tape=tape, live=ports)
                rehearsal.play(live.plan, journal=log, observe=observe)
                rehearsal.finish()
                tape.finish()
            else:
                run(live.plan, ports, journal=log, observe=observe)


def say_withheld(places: Sequence[str]) -> None:
    """Tell which results were withheld."""
    for place in places:
        err.print(f"A result was withheld from the model and the recording: {place}", style="yellow")


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
        self._live: _Live | None = None
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
        chat._live = _Live(recorded.plan, log, files, files.trace.run.state)
        return chat

    @property
    def files(self) -> RecordedFiles | ResumedFiles | None:
        """The recording, with why it could not be written, if so, which ended the conversation."""
        return self._live.files if self._live else None

    def ask(self, content: str) -> Run:
        """One exchange: what the user says, and all up to its end. Ctrl-C cancels it."""
        if self._live is None:
            plan, secrets = self._begin(content), self._session.target.secrets
            path, durable = self._record, self._session.durable
            files = RecordedFiles(path, plan, secrets, self._keeping, durable=durable) if path else None
            self._live = _Live(plan, EventLog(files), files)
        live = self._live
        said = None if live.state is None else content
        self._session.go(live, tape=live.files.tape if live.files else None, said=said)
        reached = live.reached
        live.state = reached.state
        return reached

    def close(self) -> tuple[Path, ...]:
        """Write the recording; returns its files."""
        files = self.files
        if files is None:
            return ()
        saved = files.close(keep=True, ended=False) if isinstance(files, RecordedFiles) else files.close()
        say_withheld(files.withheld)
        return saved
