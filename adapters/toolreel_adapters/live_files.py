"""The files of a live run: a cassette and its journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from toolreel.effects import SendRequest
from toolreel.errors import ReplayMismatch
from toolreel.events import Event
from toolreel.plan import Plan
from toolreel_adapters import cassette_format
from toolreel_adapters.cassette import Recording
from toolreel_adapters.cassette_file import CassetteFile
from toolreel_adapters.errors import AdapterError, CassetteError
from toolreel_adapters.journal_file import FileJournal, ReopenedJournal
from toolreel_adapters.ports import Wanted
from toolreel_adapters.rehearsal import went_over_the_wire
from toolreel_adapters.replay import companion
from toolreel_adapters.retracing import Trace, retrace

__all__ = ["RecordedFiles", "ResumedFiles"]


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
        *,
        overwrite: bool = False,
        durable: bool = False,
    ) -> None:
        self._path = path
        self._journal_path = companion(path)
        for taken in (path, self._journal_path):
            if taken.exists() and not overwrite:
                raise CassetteError(
                    f"{taken} exists already: record under another name, or overwrite it (--overwrite)"
                )
        self._before = self._journal_path.read_bytes() if self._journal_path.exists() else None
        self._secrets = secrets
        self.tape = Recording.blank(path)
        self._journal = FileJournal(
            self._journal_path, plan, known_secrets=self._secrets, overwrite=overwrite, durable=durable
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
        try:
            self._journal.close()
            if keep and not self.refused and self.tape.total:
                self.tape.save(self._secrets)
        except AdapterError as error:
            self.refused = error
        if self.refused or not keep:
            self._restore()
            return ()
        if not self.tape.total:
            self._path.unlink(missing_ok=True)
            return (self._journal_path,)
        return (self._path, self._journal_path)

    def _restore(self) -> None:
        if self._before is None:
            self._journal_path.unlink(missing_ok=True)
        else:
            self._journal_path.write_bytes(self._before)


class ResumedFiles:
    """What stands on disk of a run that goes on.

    The journal is gone on with. So is the cassette of a run that rested, whose exchanges are all in it.
    That of a killed run was never written, and what was not heard is not made up: then the journal alone
    is the record, and a cassette that stands there is of another run and makes way to ``<name>.yaml.old``.

    :param cassette: the path of the cassette, whether there is one or not
    :raises AdapterError: as :class:`~toolreel_adapters.journal_file.ReopenedJournal` does
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


def _continued(path: Path, trace: Trace) -> Recording | None:
    """A tape with the exchanges of a cassette, if they are just those of a run so far."""
    if not path.exists():
        return None
    try:
        played, tape = Recording.load(path), Recording.blank(path)
        for traced in trace.events:
            if isinstance(traced.effect, SendRequest) and went_over_the_wire(traced.record.event):
                played.play("POST", "/chat/completions", traced.effect.request.body.encode())
        played.finish()
        again = Recording.load(path)
        for request in CassetteFile().load_cassette(str(path), cassette_format)[0]:
            body = request.body or b""
            tape.append(
                request.method,
                request.uri,
                request.headers,
                body,
                again.play(request.method, request.uri, body),
            )
    except (CassetteError, ReplayMismatch):
        return None
    return tape
