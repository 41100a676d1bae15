"""Run a plan against a live endpoint, and record it; Ctrl-C keeps what was recorded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from toolreel._agent import AgentTools, OfferedTools
from toolreel._cli.console import err
from toolreel._cli.errors import STOPPED
from toolreel._cli.options import LiveTarget
from toolreel._cli.progress import RunProgress
from toolreel._cli.whole_run import EndedRun
from toolreel._driver import Approver, Lap, Later, Ports, go_on, notify, run, speak
from toolreel._internal import AdapterError
from toolreel._replay import Answered, RecordedFiles, ResumedFiles, Underway, check_tools_unchanged
from toolreel_core._plan import Plan
from toolreel_core._protocol import CancelRequested

if TYPE_CHECKING:
    from toolreel.cassette import Session


@dataclass(slots=True)
class Live:
    log: Underway
    files: RecordedFiles | ResumedFiles | None = None
    tape: Session | None = None
    """Records the traffic, and replays what is recorded already."""
    has_begun: bool = False

    def close(self) -> EndedRun:
        """Write the recording, unless nothing has happened; the run so far, and its files."""
        files = self.files
        if files is None:
            return EndedRun(self.log.run)
        saved = files.close(keep=bool(self.log.answered))
        for place in files.journal.withheld:
            err.print(f"A result was withheld from the model and the recording: {place}", style="yellow")
        return EndedRun(self.log.run, saved, files.refused, files.left)


@dataclass(frozen=True, slots=True)
class LiveSession:
    target: LiveTarget
    tools: AgentTools = ()
    """Functions, tools and hosts; hosts may be called from any thread."""
    approver: Approver = field(default_factory=Later)
    """Decides about tools that need approval; by default, the run waits there."""
    durable: bool = False
    progress: RunProgress = field(default_factory=RunProgress)

    def run(
        self,
        plan: Plan,
        record: Path | None = None,
        *,
        overwrite: bool = False,
        earlier: Sequence[Answered] = (),
    ) -> EndedRun:
        """Run a plan; an event that cannot be written ends it before its next effect, with ``Cancelled``.

        :param overwrite: whether it may replace existing files
        :param record: the cassette to write, ``<name>.yaml``; its journal goes next to it
        :param earlier: the events that a fork keeps; the run continues after them, and is recorded as a
            journal only, because the requests before were never sent
        """
        live = self.begin(plan, record, overwrite=overwrite)
        try:
            for effect, event in earlier:
                live.log.record(effect, event)
            if earlier:
                notify(self.progress, live.log.at.notes)
                live.has_begun, live.tape = True, None
            self.perform(live)
        finally:
            done = live.close()
        return done

    def resume(self, cassette: Path) -> EndedRun:
        """Continue a recorded run that was killed or waits, under the plan of its journal.

        :param cassette: the path of its cassette, which need not exist; the journal is next to it
        """
        live, files = self.reopen(cassette)
        try:
            if live.log.state.outcome is None:
                self.check_tools_match_recording(files)
                self.perform(live)
        finally:
            done = live.close()
        before = len(files.journal.recorded.records)
        return replace(done, before=before, new=len(live.log.answered), cut=files.journal.cut)

    def begin(self, plan: Plan, record: Path | None, *, overwrite: bool) -> Live:
        if record is None:
            return Live(Underway(plan))
        self.print_key_notice()
        files = RecordedFiles(record, plan, self.target.secrets, overwrite=overwrite, durable=self.durable)
        return Live(Underway(plan, files.journal), files, files.tape)

    def reopen(self, cassette: Path) -> tuple[Live, ResumedFiles]:
        self.print_key_notice()
        files = ResumedFiles(cassette, self.target.secrets, durable=self.durable)
        return Live(Underway(files.trace.run, files.journal), files, files.tape, has_begun=True), files

    def print_key_notice(self) -> None:
        if notice := self.target.key_notice:
            err.print(notice, style="yellow")

    def check_tools_match_recording(self, files: ResumedFiles) -> None:
        recorded = files.journal.recorded
        if recorded.plan.sends_tools:
            check_tools_unchanged(recorded, OfferedTools.of(self.tools).surface)

    def perform(self, live: Live, said: str | None = None) -> None:
        """Run to the end, or until Ctrl-C or an event that cannot be written.

        Ctrl-C is recorded as a cancellation, unless the run has already ended.

        :param said: what the user says to the run that continues
        """
        log, began, done = live.log, monotonic(), len(live.log.run.timing.took)
        try:
            self._perform_run(live, said)
        except KeyboardInterrupt:
            if log.state.outcome is None:
                # The time since the last event; the laps of the events have what was before.
                since = sum(took.passed_ms or 0 for took in log.run.timing.took[done:])
                ms = max(0, round((monotonic() - began) * 1000) - since)
                log.record(None, CancelRequested(STOPPED), Lap(ms, ms))
        except AdapterError as error:
            if live.files is None or error is not live.files.journal.failure:
                raise
            if log.state.outcome is None:  # not recorded: the run can be resumed
                log.take_event(None, CancelRequested("the recording could not be written"))
        live.has_begun = True

    def _perform_run(self, live: Live, said: str | None) -> None:
        log, progress = live.log, self.progress
        progress.begin_run(log.state)
        log.watch = progress.add_event
        # Tools may print, and what the command prints is its result.
        with (
            redirect_stdout(sys.stderr),
            progress,
            self.target.open_endpoint(progress.show_delta, live.tape) as endpoint,
        ):
            ports = Ports(endpoint, OfferedTools.of(self.tools).host(), self.approver)
            if not live.has_begun:
                run(log.state.plan, ports, journal=log, observe=progress)
            elif said is None:
                go_on(log.state, ports, journal=log, observe=progress)
            else:
                speak(log.state, said, ports, journal=log, observe=progress)
