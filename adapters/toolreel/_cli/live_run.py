"""Run a plan against a live endpoint, and record it; Ctrl-C keeps what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from toolreel._agent import AgentTools, OfferedTools
from toolreel._cli.console import err
from toolreel._cli.errors import STOPPED
from toolreel._cli.options import LiveTarget
from toolreel._cli.whole_run import EndedRun
from toolreel._driver import Approver, Lap, Later, Ports, Run, go_on, notify, retold, run, speak
from toolreel._internal import AdapterError
from toolreel._replay import Answered, EventLog, RecordedFiles, ResumedFiles, check_tools_unchanged
from toolreel_core._loop import fold
from toolreel_core._plan import Plan
from toolreel_core._protocol import CancelRequested, Settled, State

if TYPE_CHECKING:
    from toolreel._cli.progress import RunProgress
    from toolreel.cassette import Session


@dataclass(slots=True)
class Live:
    """A run, or a conversation, and its recording."""

    plan: Plan
    log: EventLog
    files: RecordedFiles | ResumedFiles | None
    tape: Session | None
    """Records the traffic, and replays what is recorded already."""
    state: State | None = None
    """The state from which it continues; ``None`` at the beginning."""

    @property
    def run_so_far(self) -> Run:
        """The run so far."""
        return retold(self.plan, self.log.events, self.log.laps)

    def close(self, *, ended: bool = False) -> EndedRun:
        """Write the recording, unless nothing has happened; the run so far, and its files.

        :param ended: whether the run has ended; if not, results of tools are not deleted
        """
        files = self.files
        if files is None:
            return EndedRun(self.run_so_far)
        if isinstance(files, RecordedFiles):
            saved = files.close(keep=bool(self.log.events), ended=ended)
        else:
            saved = files.close()
        for place in files.journal.withheld:
            err.print(f"A result was withheld from the model and the recording: {place}", style="yellow")
        return EndedRun(self.run_so_far, saved, files.refused, files.left)


@dataclass(frozen=True, slots=True)
class LiveSession:
    """Runs plans against a server."""

    target: LiveTarget
    tools: AgentTools = ()
    """Functions, tools and hosts; hosts may be called from any thread."""
    approver: Approver = field(default_factory=Later)
    """Decides about tools that need approval; by default, the run waits there."""
    durable: bool = False
    """Whether each event is synced to disk before the run continues."""
    progress: RunProgress | None = None
    """Shows the run on the terminal."""

    def run(
        self,
        plan: Plan,
        record: Path | None = None,
        *,
        overwrite: bool = False,
        earlier: Sequence[Answered] = (),
    ) -> EndedRun:
        """Run a plan.

        An event that cannot be written ends the run before its next effect, with ``Cancelled``.

        :param record: the cassette to write, ``<name>.yaml``; its journal goes next to it
        :param overwrite: whether it may replace existing files
        :param earlier: the events that a fork keeps; the run continues after them, and is recorded as a
            journal only, because the requests before were never sent
        :raises AdapterError: before anything is sent, if the endpoint, the tools or the files cannot be used
        """
        live = self.begin(plan, record, overwrite=overwrite)
        try:
            for effect, event in earlier:
                live.log.record(effect, event)
            if earlier:
                at = fold(plan, live.log.events)
                notify(self.progress, at.notes)
                live.state, live.tape = at.state, None
            self.perform(live)
        except BaseException:
            live.close()
            raise
        return live.close(ended=True)

    def resume(self, cassette: Path) -> EndedRun:
        """Continue a recorded run that was killed or waits, under the plan of its journal.

        :param cassette: the path of its cassette, which need not exist; the journal is next to it
        :raises AdapterError: if the journal cannot be continued or written
        :raises toolreel.ReplayMismatch: if the run or the tools differ from the recording
        """
        live, files = self.reopen(cassette)
        try:
            if live.state and not isinstance(live.state.phase, Settled):
                self.check_tools(files)
                self.perform(live)
        finally:
            done = live.close()
        before = len(files.journal.recorded.records)
        return replace(
            done,
            run=replace(done.run, timing=files.trace.run.timing + done.run.timing),
            before=before,
            new=len(live.log.events) - before,
            cut=files.journal.cut,
        )

    def begin(self, plan: Plan, record: Path | None, *, overwrite: bool) -> Live:
        """A run that begins, and the files to record it in.

        :raises AdapterError: if they exist already, or cannot be written
        """
        if record is None:
            return Live(plan, EventLog(None), None, None)
        self.print_key_notice()
        files = RecordedFiles(record, plan, self.target.secrets, overwrite=overwrite, durable=self.durable)
        return Live(plan, EventLog(files), files, files.tape)

    def reopen(self, cassette: Path) -> tuple[Live, ResumedFiles]:
        """A recorded run, to go on with.

        :raises AdapterError: if the journal cannot be continued
        """
        self.print_key_notice()
        files = ResumedFiles(cassette, self.target.secrets, durable=self.durable)
        recorded, state = files.journal.recorded, files.trace.run.state
        return Live(recorded.plan, EventLog(files, recorded.events), files, files.tape, state), files

    def print_key_notice(self) -> None:
        """Tell of a key for which recordings are not searched."""
        if notice := self.target.key_notice:
            err.print(notice, style="yellow")

    def check_tools(self, files: ResumedFiles) -> None:
        """Check that the tools equal those of a recorded run.

        :raises toolreel.ReplayMismatch: if they do not
        """
        recorded = files.journal.recorded
        if recorded.plan.sends_tools:
            check_tools_unchanged(recorded, OfferedTools.of(self.tools).surface)

    def perform(self, live: Live, said: str | None = None) -> None:
        """Run to the end (``live.run_so_far``), or until Ctrl-C or an event that cannot be written.

        Ctrl-C is recorded as a cancellation, unless the run has already ended.

        :param said: what the user says to the run that continues
        """
        began, done = monotonic(), len(live.log.laps)
        try:
            self._perform_run(live, said)
        except KeyboardInterrupt:
            if not isinstance(live.run_so_far.state.phase, Settled):
                since = (lap.passed_ms or 0 for _, lap in [*live.log.laps.values()][done:])
                ms = max(0, round((monotonic() - began) * 1000) - sum(since))
                live.log.record(None, CancelRequested(STOPPED), Lap(ms, ms))
        except AdapterError as error:
            if live.files is None or error is not live.files.refused:
                raise
            if not isinstance(live.run_so_far.state.phase, Settled):  # not recorded: the run can be resumed
                live.log.events.append(CancelRequested("the recording could not be written"))

    def _perform_run(self, live: Live, said: str | None) -> None:
        log, progress = live.log, self.progress
        if progress:
            progress.begin_run(live.plan, live.state)
            log.watch = progress.add_event
        with self.target.open_endpoint(progress.show_delta if progress else None, live.tape) as endpoint:
            ports = Ports(endpoint, OfferedTools.of(self.tools).host(), self.approver)
            if live.state is None:
                run(live.plan, ports, journal=log, observe=progress)
            elif said is None:
                go_on(live.state, ports, journal=log, observe=progress)
            else:
                speak(live.state, said, ports, journal=log, observe=progress)
