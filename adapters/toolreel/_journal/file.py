"""Journals on disk, written line by line, so that a killed run loses only the effects in progress.

Lines go to ``<path>.part``, locked by one process and renamed to ``<path>`` when the journal is closed. Each
line is flushed to the operating system before the run continues, so it survives a killed process. With
``durable``, it also survives a power loss, at the cost of one ``fsync`` per event.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from toolreel._driver.ports import Wanted
from toolreel._internal.errors import JournalError, SecretFound
from toolreel._journal.format import (
    VERSIONS,
    Recorded,
    event_line,
    header_line,
    parse_journal,
    read_journal,
    unfinished,
)
from toolreel._secrets.known_values import known_secrets as known_secrets_of
from toolreel._secrets.scanned_texts import refuse_secrets_in_line
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import Event

if sys.platform == "win32":
    import msvcrt

    _FAR_BEYOND = 2**40
    """Windows locks byte ranges, which others then cannot read; so we lock one that is never written."""

    def taken(file: IO[bytes]) -> bool:
        """Lock a file until it is closed; returns False if another process has the lock."""
        at = file.tell()
        file.seek(_FAR_BEYOND)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            file.seek(at)
        return True
else:
    import fcntl

    def taken(file: IO[bytes]) -> bool:
        """Lock a file until it is closed; returns False if another process has the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_CAN_RENAME_OPEN_FILES: Final = os.name == "posix"
"""Windows cannot rename an open file."""


class _Lines:
    """The file of a journal."""

    def __init__(self, path: Path, secrets: Mapping[str, str] | None, *, durable: bool) -> None:
        self.path = path
        self._part = unfinished(path)
        self._secrets = known_secrets_of(os.environ) if secrets is None else dict(secrets)
        self._durable = durable
        self._written = 0
        self._file: IO[bytes]

    def withhold(self, secrets: Mapping[str, str]) -> None:
        """Take further secrets that must not be written, by name; a driver says those of its performer."""
        self._secrets |= secrets

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Write an event and the effect that it answers.

        :raises SecretFound: if the line contains a secret; it is not written
        :raises JournalError: if the file cannot be written
        """
        self._write(self._checked(event_line(self._written, effect, event)))

    def close(self) -> None:
        """Sync the file to disk and rename it from ``<path>.part`` to ``<path>``."""
        if self._file.closed:
            return
        with _writing(self.path):
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
                if _CAN_RENAME_OPEN_FILES:
                    self._part.replace(self.path)  # while it is locked, so that no other process can take it
            if not _CAN_RENAME_OPEN_FILES:
                self._part.replace(self.path)

    def discard(self) -> None:
        """Delete what was recorded; an older journal at ``path`` stays."""
        if self._file.closed:
            return
        with _writing(self.path), self._file:
            self._part.unlink()

    def _take(self, mode: str) -> None:
        """Open the file and lock it for this process."""
        with _writing(self.path):
            self._file = self._part.open(mode)
        if not taken(self._file) or not self._is_of_this_name():
            self._file.close()
            raise JournalError(
                f"{self._part}: another process is writing it; wait until it has ended, or stop it"
            )

    def _is_of_this_name(self) -> bool:
        """Whether the open file still has this name; its last writer may rename it before we get the lock."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._part.stat())
        except FileNotFoundError:
            return False

    def _checked(self, line: str) -> str:
        refuse_secrets_in_line(line, self._secrets, f"{self.path}, line {self._written + 1}")
        return line

    def _write(self, line: str) -> None:
        with _writing(self.path):
            self._file.write(f"{line}\n".encode())
            self._file.flush()
            if self._durable:
                os.fsync(self._file.fileno())
        self._written += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


class FileJournal(_Lines):
    """A journal file for a new run; use it in a ``with`` block, and pass it to ``run``.

    :param path: the file, conventionally ``<name>.journal.jsonl``; during the run it is ``<path>.part``
    :param plan: the plan of the run, written as the first line
    :param known_secrets: secret values by name, which must not be written; by default, those in the
        environment variables. What the endpoint and the tools of the run send is not written either
    :param overwrite: whether to replace an existing file
    :param durable: whether each line is synced to disk (one ``fsync`` per event) before the run continues
    :raises JournalError: if the file, or the ``.part`` of a killed run, exists and ``overwrite`` is not set,
        if another process is writing it, or if it cannot be written (all methods)
    :raises SecretFound: if the plan contains a secret; nothing is written
    """

    def __init__(
        self,
        path: Path | str,
        plan: Plan,
        *,
        known_secrets: Mapping[str, str] | None = None,
        overwrite: bool = False,
        durable: bool = False,
    ) -> None:
        path = Path(path)
        super().__init__(path, known_secrets, durable=durable)
        self._header = header = self._checked(header_line(plan))
        if path.exists() and not overwrite:
            raise JournalError(f"{path} exists; record under another name, or overwrite it (overwrite=True)")
        if self._part.exists() and not overwrite:
            raise JournalError(
                f"{self._part} is what a run left that did not end; go on with it (toolreel resume), or "
                "overwrite it (overwrite=True)"
            )
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._take("ab")
        try:
            with _writing(path):
                if os.fstat(self._file.fileno()).st_size:
                    self._file.truncate(0)
            self._write(header)
            if durable:
                _sync_folder(path.parent)
        except JournalError:
            with suppress(OSError):
                self._file.close()
            self._part.unlink()
            raise

    def withhold(self, secrets: Mapping[str, str]) -> None:
        """Take further secrets that must not be written; a plan with one of them does not stay on disk.

        :raises SecretFound: if the plan contains one; the journal is discarded
        """
        super().withhold(secrets)
        try:
            refuse_secrets_in_line(self._header, secrets, f"{self.path}, line 1")
        except SecretFound:
            self.discard()
            raise


class ReopenedJournal(_Lines):
    """The journal of a killed or paused run, reopened to append to it.

    A truncated last line is moved to ``<path>.cut``; one that lacks only its line end is kept.

    :param path: the journal, without ``.part``
    :raises JournalError: if it is missing, unreadable or of an older version, or another process is writing
        it
    """

    recorded: Recorded
    """The content so far."""
    cut: Path | None = None
    """The file with the truncated last line, if there was one."""

    def __init__(
        self, path: Path | str, *, known_secrets: Mapping[str, str] | None = None, durable: bool = False
    ) -> None:
        path = Path(path)
        super().__init__(path, known_secrets, durable=durable)
        if not self._part.exists():
            read_journal(path)  # raises a clear error before anything is changed
            with _writing(path), suppress(FileNotFoundError):  # another process was faster, and has the lock
                path.replace(self._part)
        self._take("r+b")
        try:
            with _writing(path):
                self.recorded = self._read()
        except JournalError:
            self._file.close()
            raise
        self._written = 1 + len(self.recorded.records)

    def _read(self) -> Recorded:
        data = self._file.read()
        whole, line_end, last = data.rpartition(b"\n")
        if last.endswith(b"}"):
            with suppress(JournalError):
                recorded = self._parsed(data + b"\n")
                self._file.write(b"\n")
                return recorded
        recorded = self._parsed(whole + line_end)
        if last:
            self.cut = self._set_aside(last)
            self._file.seek(len(whole + line_end))
            self._file.truncate()
        return recorded

    def _parsed(self, data: bytes) -> Recorded:
        if not data:
            raise JournalError(f"{self._part}: not even its first line was written; start the run anew")
        try:
            recorded = parse_journal(data.decode(), str(self._part))
        except UnicodeDecodeError as error:
            raise JournalError(f"{self._part}: not a readable journal: {error}") from None
        if recorded.version != VERSIONS.newest:
            raise JournalError(
                f"{self._part}: of version {recorded.version}, to which nothing is added; go on in a journal "
                f"of its own: toolreel fork {self._part} --at {len(recorded.records)}"
            )
        return recorded

    def _set_aside(self, last: bytes) -> Path:
        """Keep the truncated line, since it may show that a tool has run."""
        path = self.path.with_name(f"{self.path.name}.cut")
        with path.open("ab") as file:
            file.write(last + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return path


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name survives a power loss; Windows has no such call."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _writing(path: Path) -> Generator[None]:
    """Convert ``OSError`` to ``JournalError``."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"{path}: cannot be written: {error.strerror or error}") from error
