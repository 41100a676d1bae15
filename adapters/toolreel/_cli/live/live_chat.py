"""A conversation with a live server: one exchange after the other, in one recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from toolreel._cli.live.live_run import Beginning, LiveSession, say_withheld
from toolreel._cli.output.console import err
from toolreel._driver.run_result import Run
from toolreel._internal.errors import AdapterError
from toolreel._replay.fork import EventLog
from toolreel._replay.recorded_files import Keeping, RecordedFiles, ResumedFiles, check_free
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.state import State
from toolreel_core._tools.tool_definition import ToolDefinition


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
