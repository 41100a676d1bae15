"""Journals on disk, written line by line, so that a killed run loses only the effects in progress.

Lines go to ``<path>.part``, locked by one process and renamed to ``<path>`` when the journal is closed. Each
line is flushed to the operating system before the run continues, so it survives a killed process. With
``durable``, it also survives a power loss, at the cost of one ``fsync`` per event.

A journal that could not be written keeps the name ``<path>.part``: its run has not ended, and can be resumed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO, Final, Self

from toolreel._driver import Lap, Wanted
from toolreel._internal import AdapterError, JournalError, SecretFound
from toolreel._journal.format import (
    Recorded,
    Sealing,
    parse_journal,
    part_path,
    read_journal,
    remove_seal,
    timed_event_line,
    withhold_result,
)
from toolreel._secrets import check_line_for_secrets
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._plan import Plan
from toolreel_core._protocol import Event, ToolReturned, blob_lines, blobs_in, header_line

# The file of a journal while its run is in progress: ``<path>.part``, held by one process.
#
# After its last line, the file has room for one short line, filled with spaces. The room is written together
# with the line before it, so a disk that is full is noticed before the next effect is performed, and not
# after it. A long line that the disk has no place for is then replaced by a short one, which fits in the
# room.


if sys.platform == "win32":
    import msvcrt

    _FAR_BEYOND = 2**40
    """Windows locks byte ranges, which others then cannot read; so we lock one that is never written."""

    def lock_file(file: IO[bytes]) -> bool:
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

    def lock_file(file: IO[bytes]) -> bool:
        """Lock a file until it is closed; returns False if another process has the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# A line that says that a result is lost has up to about 400 bytes, a seal about 100.
ROOM = b" " * 1024
"""What stands after the last line of a journal that is being written.

It has no line end, which would make a whole line of what a kill in the middle of a write leaves before it.
"""

_CAN_RENAME_OPEN_FILES = os.name == "posix"
"""Windows cannot rename an open file."""


def move_journal_to_part_file(path: Path) -> None:
    """Give a finished journal its name as a ``.part``; one that another process has made is not replaced."""
    part = part_path(path)
    with as_journal_errors(path), suppress(FileExistsError, FileNotFoundError):  # another process was faster
        try:
            os.link(path, part)  # unlike a rename, fails if the name exists
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError:  # a file system without hard links
            path.replace(part)


def make_folders(folder: Path) -> Path:
    """Make a folder and those above it; returns the first one that existed already."""
    first = folder
    while not first.exists():
        first = first.parent
    folder.mkdir(parents=True, exist_ok=True)
    return first


def fsync_folder_and_ancestors(folder: Path, first: Path) -> None:
    """Sync a folder and those above it up to ``first``, so that new names survive a power loss."""
    while True:
        with suppress(OSError):  # Windows cannot open a folder
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        if folder in {first, folder.parent}:
            return
        folder = folder.parent


@contextmanager
def as_journal_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise JournalError(f"{path}: cannot be written: {error.strerror or error}") from error


def _is_file_at_path(file: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


_BLOB_LINE = lazy_pattern(r'^{"blob":"([^"]+)"', re.MULTILINE)
"""A line begins with a brace nowhere else: a line break in a text is escaped."""


class _OpenJournal:
    """A journal that is being written: its lines, and the open and locked ``<path>.part`` that they go to."""

    keeps_times: Final = True

    def __init__(self, path: Path, secrets: Mapping[str, str] | None, *, durable: bool) -> None:
        self.path = path
        self.withheld: list[str] = []
        """For each result that was not written because it holds a secret: the place and the kind of it."""
        self._part = part_path(path)
        self._file: FileIO
        self._end = 0
        """Where the next line is written."""
        self._durable = durable
        self._process = os.getpid()
        self._secrets = known_secrets_of(os.environ) if secrets is None else dict(secrets)
        self._events = 0
        self._blobs: set[str] = set()
        self._seal = Sealing()
        self.failure: AdapterError | None = None
        """What the last event could not be written for."""

    def withhold(self, secrets: Mapping[str, str]) -> None:
        """Take further secrets that must not be written, by name; a driver says those of its performer."""
        self._secrets |= secrets

    def record(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Event:
        """Write an event, the effect that it answers, and its times; nothing more is written after a failure.

        A result of a tool that holds a secret, or for which the disk has no room, is replaced by one that
        says so; then the file has a record of the call, and the call is not made again when the run is
        resumed.

        :returns: the event as it was written; the run continues with it
        :raises SecretFound: if another event contains a secret; it is not written
        :raises JournalError: if the file cannot be written, or was deleted
        """
        if self.failure is not None:
            raise self.failure
        try:
            self._check_writable()
            line = timed_event_line(self._events + 1, effect, event, lap)
            try:
                self._check_no_secrets(line, event)
            except SecretFound as found:
                if not isinstance(event, ToolReturned):
                    raise
                event = withhold_result(event, "secret")
                line = timed_event_line(self._events + 1, effect, event, lap)
                self.withheld.append(str(found))
            blobs = blob_lines(event, self._blobs)
            self._write_lines((*blobs.values(), line), effect, event)
        except AdapterError as error:
            self.failure = error
            raise
        self._events += 1
        self._blobs |= blobs.keys()
        return event

    def close(self) -> None:
        """Seal the file, sync it to disk and rename it from ``<path>.part`` to ``<path>``.

        The name stays if an event could not be written: the run can then be resumed.
        """
        if self._file.closed:
            return
        if self._is_inherited:
            self._file.close()  # the other process goes on writing it
            return
        if self.failure is not None:
            self.close_without_renaming()
            return
        with as_journal_errors(self.path):
            try:
                self._check_not_replaced()
                self._append(self._seal.final_seal_line, room=b"")
            except (OSError, JournalError):
                self.close_without_renaming()
                raise
            with self._file:
                self._truncate_file(self._end)
                os.fsync(self._file.fileno())
                if _CAN_RENAME_OPEN_FILES:
                    self._rename()  # while it is locked, so that no other process can take it
            if not _CAN_RENAME_OPEN_FILES:
                self._rename()
            if self._durable:
                fsync_folder_and_ancestors(self.path.parent, self.path.parent)

    def close_without_renaming(self) -> Path | None:
        """Close the file without renaming it; returns its path if it is still there."""
        if not self._file.closed:
            with self._file, suppress(OSError):
                self._truncate_file(self._end)
        return self._part if self._part.exists() else None

    def discard(self) -> None:
        """Delete what was recorded; an older journal at ``path`` stays."""
        if not self._file.closed:
            with as_journal_errors(self.path), self._file:
                self._part.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, *, create: bool = False) -> None:
        with as_journal_errors(self.path):
            flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0)
            # Unbuffered: a buffer keeps what could not be written, and tries again when it is closed.
            self._file = FileIO(os.open(self._part, flags, 0o666), "r+")
        # Its last writer may rename it before we get the lock.
        if not lock_file(self._file) or not _is_file_at_path(self._file, self._part):
            self._file.close()
            raise JournalError(
                f"{self._part}: another process is writing it; wait until it has ended, or stop it"
            )

    @property
    def _is_inherited(self) -> bool:
        """Whether another process opened the file, of which this one is a fork."""
        return os.getpid() != self._process

    def _check_not_replaced(self) -> None:
        if not _is_file_at_path(self._file, self._part):
            raise JournalError(f"{self._part}: it was deleted or replaced while the run was recorded in it")

    def _check_writable(self) -> None:
        if self._file.closed:
            raise JournalError(
                f"{self.path}: it was closed; go on with resume(path, performer, say=...) or "
                "ReopenedJournal(path)"
            )
        if self._is_inherited:
            raise JournalError(
                f"{self._part}: the process that forked this one records there; open a journal of its own"
            )
        self._check_not_replaced()

    def _check_no_secrets(self, line: str, value: Plan | Event) -> None:
        number = 1 if isinstance(value, Plan) else self._events + 2
        check_line_for_secrets(line, self._secrets, f"{self.path}, line {number}", blobs_in(value))

    def _write_lines(self, lines: Iterable[str], effect: Wanted | None, event: Event | None) -> None:
        before, data = self._end, "".join(f"{line}\n" for line in lines).encode()
        with as_journal_errors(self.path):
            try:
                self._append(data)
            except OSError:
                with suppress(OSError):
                    if self._end == before and isinstance(event, ToolReturned):
                        short = timed_event_line(
                            self._events + 1, effect, withhold_result(event, "unwritten")
                        )
                        self._append(f"{short}\n".encode(), room=b"")
                raise
        self._seal.add_lines(data)

    def _append(self, line: bytes, room: bytes = ROOM) -> None:
        """Write a line, and room after it; ``_end`` says whether at least the line is there.

        :param room: none for a short line that is written in the room of another one
        """
        data, written = memoryview(line + room), 0
        self._file.seek(self._end)
        try:
            while written < len(data):
                written += self._file.write(data[written:]) or 0
            if self._durable:
                os.fsync(self._file.fileno())
        finally:
            if written >= len(line):
                self._end += len(line)

    def _truncate_file(self, end: int) -> None:
        self._end = end
        # What cannot be truncated, such as a device, has no size either.
        if os.fstat(self._file.fileno()).st_size > end:
            self._file.truncate(end)

    def _rename(self) -> None:
        self._part.replace(self.path)
        # A rename between two names of one file does nothing; they are left by a claim that was interrupted.
        with suppress(FileNotFoundError):
            if self._part.samefile(self.path):
                self._part.unlink()


class FileJournal(_OpenJournal):
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
        self._plan, self._header = plan, header_line(plan)
        self._check_no_secrets(self._header, plan)
        if path.exists() and not overwrite:
            raise JournalError(f"{path} exists; record under another name, or overwrite it (overwrite=True)")
        if self._part.exists() and not overwrite:
            self._open()  # or an error, if a process is writing it
            self._file.close()
            raise JournalError(
                f"{self._part} is what a run left that did not end; go on with it (toolreel resume), or "
                "overwrite it with --overwrite (overwrite=True)"
            )
        with as_journal_errors(path):
            first = make_folders(path.parent)
        self._open(create=True)
        if _is_file_at_path(self._file, path):  # somebody was about to resume that run: leave it its file
            self.discard()
            self._open(create=True)
        try:
            with as_journal_errors(path):
                self._truncate_file(0)
            blobs = blob_lines(plan)
            self._write_lines((self._header, *blobs.values()), None, None)
            self._first_event = self._end
            self._blobs |= blobs.keys()
            if durable:
                fsync_folder_and_ancestors(path.parent, first)
        except JournalError:
            self.discard()
            raise

    @property
    def holds_events(self) -> bool:
        """Whether anything that happened in the run is in the file."""
        return self._end > self._first_event

    def withhold(self, secrets: Mapping[str, str]) -> None:
        """Take further secrets that must not be written; a plan with one of them does not stay on disk.

        :raises SecretFound: if the plan contains one; the journal is discarded
        """
        super().withhold(secrets)
        try:
            self._check_no_secrets(self._header, self._plan)
        except SecretFound:
            self.discard()
            raise


class ReopenedJournal(_OpenJournal):
    """A journal, reopened to append to it: of a killed or paused run, or of a conversation that goes on.

    A closed journal loses its seal and becomes a ``.part`` again, and gets a new seal at its end.

    A truncated last line is moved to ``<path>.cut``; one that lacks only its line end is kept.

    :param path: the journal, without ``.part``
    :raises JournalError: if it is missing or unreadable, or another process is writing
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
            try:
                # Raises a clear error before anything is changed.
                parse_unclosed_journal(path.read_bytes(), path)
            except OSError:
                read_journal(path)  # says what is wrong
                raise
            move_journal_to_part_file(path)
        self._open()
        try:
            with as_journal_errors(path):
                self.recorded = self._recover_part_file()
        except JournalError:
            self._file.close()
            raise
        self._events = len(self.recorded.records)
        # Also those whose event was not written any more.
        self._blobs |= {*_BLOB_LINE.findall(self.recorded.text)}

    def _recover_part_file(self) -> Recorded:
        recorded, lines, torn = parse_unclosed_journal(self._file.readall(), self._part)
        end = b"" if lines.endswith(b"\n") else b"\n"  # the line end that the last line lacks
        self._seal.add_lines(lines + end)
        if torn:  # kept, since it may show that a tool has run
            self.cut = self.path.with_name(f"{self.path.name}.cut")
            with self.cut.open("ab") as file:
                file.write(torn + b"\n")
                file.flush()
                os.fsync(file.fileno())
        if _is_file_at_path(self._file, self.path):
            self.path.unlink()  # as a rename would have done
        self._truncate_file(len(lines))
        try:
            self._append(end)  # and room, so that a full disk is noticed before an effect
        except OSError:
            self._truncate_file(self._end)
            raise
        return recorded


def parse_unclosed_journal(data: bytes, source: Path) -> tuple[Recorded, bytes, bytes]:
    """What a journal holds that was not closed: the run, its lines without a seal, and a truncated last line.

    :raises JournalError: if anything else is wrong
    """
    data = data.rstrip(b" ")
    whole, line_end, last = data.rpartition(b"\n")
    if last.endswith(b"}"):
        with suppress(JournalError):
            recorded, lines = _parse_journal_bytes(data + b"\n", source)
            # Cut to what the file has: its last line has no line end yet.
            return recorded, lines[: len(data)], b""
    return *_parse_journal_bytes(whole + line_end, source), last


def _parse_journal_bytes(data: bytes, source: Path) -> tuple[Recorded, bytes]:
    if not data:
        raise JournalError(
            f"{source}: nothing is recorded yet; if its process has ended, start the run again"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise JournalError(f"{source}: not a readable journal: {error}") from None
    return parse_journal(text, str(source)), remove_seal(text, str(source)).encode()
