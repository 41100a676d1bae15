"""The files of a live run: a cassette and its journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from toolreel._driver import Resting, Run
from toolreel._internal import AdapterError, CassetteError
from toolreel._journal import FileJournal, ReopenedJournal, journal_path, read_journal
from toolreel._replay.journal_performer import exchange_key, has_whole_response
from toolreel._replay.trace import Trace, retrace
from toolreel.cassette import Session
from toolreel_core._errors import ConfigError, ReplayMismatch, ToolreelError
from toolreel_core._loop import NO_REPLIES
from toolreel_core._plan import Plan
from toolreel_core._protocol import ReplyRead, SendRequest


class RecordedFiles:
    """A cassette and its journal, of which both are written or neither.

    If an event cannot be written, the run ends there and existing files stay unchanged. What was recorded is
    kept in the journal's ``.part``, from which the run can be resumed.
    """

    refused: AdapterError | None = None
    """Why the recording could not be written, once it is closed."""
    left: Path | None = None
    """The ``.part`` that was left, if the recording could not be written."""

    def __init__(
        self,
        path: Path,
        plan: Plan,
        secrets: Mapping[str, str],
        *,
        overwrite: bool = False,
        durable: bool = False,
    ) -> None:
        if not overwrite:
            check_not_recorded(path)
        self._path, self._secrets = path, secrets
        self.tape = Session(path, "record")
        replaces = overwrite or journal_path(path).exists()
        self.journal = FileJournal(
            journal_path(path), plan, known_secrets=secrets, overwrite=replaces, durable=durable
        )

    def close(self, *, keep: bool = True) -> tuple[Path, ...]:
        """:param keep: whether the recording gets its name; else a ``.part`` keeps what happened"""
        self.refused = self.journal.failure
        if keep and not self.refused:
            try:
                # The cassette first: if it is refused, the journal is still a `.part`, which can be resumed.
                self.tape.save(self._secrets)
                self.journal.close()
            except AdapterError as error:
                self.refused = error
        if self.refused or not keep:
            if self.journal.holds_events:
                self.left = self.journal.close_without_renaming()
            else:
                self.journal.discard()
            return ()
        if not self.tape.exchanges:
            self._path.unlink(missing_ok=True)
            return (self.journal.path,)
        return (self._path, self.journal.path)


class ResumedFiles:
    """The files of a run that is resumed.

    The journal is continued, and so is the cassette of a run that waited, because it has all exchanges. A
    killed run never wrote its cassette: one that is there is of another run, and becomes
    ``<name>.yaml.old``.
    """

    refused: AdapterError | None = None
    left: Path | None = None

    def __init__(
        self, cassette: Path, secrets: Mapping[str, str], *, durable: bool = False, after: Run | None = None
    ) -> None:
        self._path, self._secrets = cassette, secrets
        self.journal = ReopenedJournal(journal_path(cassette), known_secrets=secrets, durable=durable)
        try:
            self.trace = retrace(self.journal.recorded)
            if after is not None and self.trace.run.state != after.state:
                raise ConfigError(
                    f"{cassette.name} has gone on after this run; go on with its last run, or begin another "
                    "conversation with agent.run([*run.messages, ...])"
                )
        except (ConfigError, ReplayMismatch):
            self.journal.close()
            raise
        self.tape = _continue_session(cassette, self.trace)

    def close(self, **_: bool) -> tuple[Path, ...]:
        """What was recorded before is kept in any case."""
        self.refused = self.journal.failure
        if self.refused:
            self.left = self.journal.close_without_renaming()
            return ()
        self.journal.close()
        if self.tape:
            self.tape.save(self._secrets)
            return (self._path, self.journal.path)
        if self._path.exists():
            self._path.replace(self._path.with_name(f"{self._path.name}.old"))
        return (self.journal.path,)


def check_not_recorded(cassette: Path) -> None:
    for existing in (cassette, journal_path(cassette)):
        if existing.exists() and not _lacks_any_model_reply(journal_path(cassette)):
            raise CassetteError(
                f"{existing} exists already: record under another name, or replace it with --overwrite "
                "(overwrite=True)"
            )


def _lacks_any_model_reply(journal: Path) -> bool:
    """Whether a run ended without any reply of a model: a wrong key, URL or model left it."""
    try:
        run = retrace(read_journal(journal)).run
    except ToolreelError:  # there is none, or none that can be read
        return False
    problems = [note.problem for note in run.notes if isinstance(note, ReplyRead)]
    return not isinstance(run.outcome, Resting) and all(problem in NO_REPLIES for problem in problems)


def _continue_session(path: Path, trace: Trace) -> Session | None:
    """A session after the recorded exchanges, if the cassette holds exactly those of the journal."""
    if not path.exists():
        return None
    try:
        session = Session(path, "extend")
        for traced in trace.events:
            effect = traced.effect
            if isinstance(effect, SendRequest):
                exchange = exchange_key(effect)
                if has_whole_response(traced.record.event):
                    if session.play(*exchange) is None:
                        return None
                else:
                    session.skip_exchange(*exchange, whole=False)
        session.finish()
    except (CassetteError, ReplayMismatch):
        return None
    return session
