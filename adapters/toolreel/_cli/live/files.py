"""The files of a live run: a cassette and its journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from toolreel._driver.ports import Wanted
from toolreel._errors import AdapterError, CassetteError
from toolreel._journal.file import FileJournal, ReopenedJournal
from toolreel._journal.record import Recorded, read_journal
from toolreel._replay.extend import uncancelled
from toolreel._replay.replay import companion, recording_files
from toolreel._replay.replayer import CHAT, breaks_in, came_whole
from toolreel._replay.trace import Trace, retrace
from toolreel.cassette._session import Session
from toolreel_core._errors import ReplayMismatch
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import Event

__all__ = ["Keeping", "RecordedFiles", "ResumedFiles"]

Keeping: TypeAlias = Literal["new", "overwrite", "record", "extend"]
"""What becomes of a recording. ``new`` and ``overwrite`` keep a run whatever came of it, the one where
there is no file of that name yet, the other in its place. ``record`` and ``extend`` keep a run that has
completed or rests, and else leave the files as they were; ``extend`` replays them first."""


class RecordedFiles:
    """What a recorded run leaves on disk: a cassette and its journal, both or neither.

    The run goes on when they may not be written; then what stood there before stays as it was.

    :raises AdapterError: if the files exist already, or cannot be written
    """

    def __init__(
        self,
        path: Path,
        plan: Plan,
        secrets: Mapping[str, str],
        keeping: Keeping = "new",
        *,
        durable: bool = False,
    ) -> None:
        self._path = path
        self._journal_path = companion(path)
        for taken in (path, self._journal_path):
            if taken.exists() and keeping == "new":
                raise CassetteError(
                    f"{taken} exists already: record under another name, or overwrite it (--overwrite)"
                )
        self._secrets = secrets
        self.before = _extended(path) if keeping == "extend" else None
        """The run that is gone on with."""
        self.tape = Session.of(path, "extend" if self.before else "record")
        self._journal = FileJournal(
            self._journal_path, plan, known_secrets=secrets, overwrite=keeping != "new", durable=durable
        )
        self.refused: AdapterError | None = None

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Write an event, until one may not be written."""
        if self.refused:
            return
        try:
            self._journal.record(effect, event)
        except AdapterError as error:
            self.refused = error

    def close(self, *, keep: bool) -> tuple[Path, ...]:
        """Leave both files, and say which there are; or neither.

        A run that was stopped before its first reply has a journal and no cassette.
        """
        if keep and not self.refused:
            try:
                self.tape.save(self._secrets)
                self._journal.close()
            except AdapterError as error:
                self.refused = error
        if self.refused or not keep:
            self._journal.discard()
            return ()
        if not self.tape.recording.total:
            self._path.unlink(missing_ok=True)
            return (self._journal_path,)
        return (self._path, self._journal_path)


class ResumedFiles:
    """What stands on disk of a run that goes on.

    The journal is gone on with. So is the cassette of a run that rested, whose exchanges are all in it.
    That of a killed run was never written, and what was not heard is not made up: then the journal alone
    is the record, and a cassette that stands there is of another run and makes way to ``<name>.yaml.old``.

    :param cassette: the path of the cassette, whether there is one or not
    :raises AdapterError: as :class:`~toolreel._journal.file.ReopenedJournal` does
    :raises toolreel.ReplayMismatch: if an event of the journal answers something else than it did
    """

    def __init__(self, cassette: Path, secrets: Mapping[str, str], *, durable: bool) -> None:
        self._path = cassette
        self._secrets = secrets
        self.journal = ReopenedJournal(companion(cassette), known_secrets=secrets, durable=durable)
        try:
            self.trace = retrace(self.journal.recorded)
        except ReplayMismatch:
            self.journal.close()
            raise
        self.tape = _continued(cassette, self.trace)

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Write an event."""
        self.journal.record(effect, event)

    def close(self) -> tuple[Path, ...]:
        """Leave the files, and say which there are.

        :raises AdapterError: if one cannot be written; the journal stands nevertheless
        """
        self.journal.close()
        if self.tape:
            self.tape.save(self._secrets)
            return (self._path, self.journal.path)
        if self._path.exists():
            self._path.replace(self._path.with_name(f"{self._path.name}.old"))
        return (self.journal.path,)


def _extended(path: Path) -> Recorded | None:
    """The run that stands there, up to where it was stopped; ``None`` where there is none.

    :raises AdapterError: if half of it is missing, or it cannot be read
    """
    if path.exists():
        return uncancelled(read_journal(recording_files(path)[1]))
    if companion(path).exists():
        raise CassetteError(f"{path}: only its journal is there, which cannot be extended: fork it instead")
    return None


def _continued(path: Path, trace: Trace) -> Session | None:
    """The session on a cassette, played as far as it goes, if it holds just the exchanges of a run so far."""
    if not path.exists():
        return None
    try:
        session = Session.of(path, "extend")
        breaks = breaks_in(session.recording)
        for traced in trace.events:
            effect = traced.effect
            if isinstance(effect, SendRequest) and (came_whole(traced.record.event) or breaks(effect)):
                session.recording.play("POST", CHAT, *effect.request.pieces())
        session.finish()
    except (CassetteError, ReplayMismatch):
        return None
    return session
