"""The file of a journal while its run is in progress: ``<path>.part``, held by one process.

After its last line, the file has room for one short line, filled with spaces. The room is written together
with the line before it, so a disk that is full is noticed before the next effect is performed, and not after
it. A long line that the disk has no place for is then replaced by a short one, which fits in the room.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from toolreel._internal import JournalError
from toolreel._journal.format import unfinished

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


ROOM: Final = b" " * 1023 + b"\n"
"""What stands after the last line of a journal that is being written."""

_CAN_RENAME_OPEN_FILES: Final = os.name == "posix"
"""Windows cannot rename an open file."""


class PartFile:
    """An open and locked ``<path>.part``.

    :param path: the journal, without ``.part``
    :param durable: whether each line is synced to disk
    :param create: whether to create the file if it is missing
    :raises JournalError: if another process is writing it, or if it cannot be opened
    """

    def __init__(self, path: Path, *, durable: bool, create: bool = False) -> None:
        self.path = path
        self.part = unfinished(path)
        self._durable = durable
        self.end = 0
        """Where the next line is written."""
        self._process = os.getpid()
        with writing(path):
            flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0)
            # Unbuffered: a buffer keeps what could not be written, and tries again when it is closed.
            self._file = os.fdopen(os.open(self.part, flags, 0o666), "r+b", buffering=0)
        if not taken(self._file) or not self._has_its_name():
            self._file.close()
            raise JournalError(
                f"{self.part}: another process is writing it; wait until it has ended, or stop it"
            )

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._file.closed

    @property
    def is_inherited(self) -> bool:
        """Whether another process opened it, of which this one is a fork."""
        return os.getpid() != self._process

    def is_also(self, path: Path) -> bool:
        """Whether the open file has this name, too."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), path.stat())
        except FileNotFoundError:
            return False

    def check_name(self) -> None:
        """Check that what is written can be found.

        :raises JournalError: if the file or its folder was deleted, moved or replaced
        """
        if not self._has_its_name():
            raise JournalError(f"{self.part}: it was deleted or replaced while the run was recorded in it")

    def _has_its_name(self) -> bool:
        """Whether the open file still has this name; its last writer may rename it before we get the lock."""
        return self.is_also(self.part)

    def read(self) -> bytes:
        """The content."""
        self._file.seek(0)
        return self._file.read()

    def cut(self, end: int) -> None:
        """Delete everything from here on; the next line is written here."""
        self.end = end
        # What cannot be truncated, such as a device, has no size either.
        if os.fstat(self._file.fileno()).st_size > end:
            self._file.truncate(end)

    def append(self, line: bytes, room: bytes = ROOM) -> None:
        """Write a line, and room after it.

        :param room: none for a short line that is written in the room of another one
        :raises OSError: if there is no place for both; :attr:`end` says whether the line is there
        """
        data, written = memoryview(line + room), 0
        self._file.seek(self.end)
        try:
            while written < len(data):
                written += self._file.write(data[written:]) or 0
            if self._durable:
                os.fsync(self._file.fileno())
        finally:
            if written >= len(line):
                self.end += len(line)

    def close(self) -> None:
        """Delete the room, and rename the file to ``<path>``.

        :raises OSError: if the file cannot be written
        """
        with self._file:
            self.cut(self.end)
            os.fsync(self._file.fileno())
            if _CAN_RENAME_OPEN_FILES:
                self._rename()  # while it is locked, so that no other process can take it
        if not _CAN_RENAME_OPEN_FILES:
            self._rename()
        if self._durable:
            sync_folders(self.path.parent, self.path.parent)

    def leave(self) -> None:
        """Close the file and keep its name."""
        with self._file, suppress(OSError):
            self.cut(self.end)

    def forget(self) -> None:
        """Close the file of another process, which goes on writing it."""
        self._file.close()

    def discard(self) -> None:
        """Delete the file."""
        with self._file:
            self.part.unlink()

    def _rename(self) -> None:
        self.part.replace(self.path)
        # A rename between two names of one file does nothing; they are left by a claim that was interrupted.
        with suppress(FileNotFoundError):
            if self.part.samefile(self.path):
                self.part.unlink()


def claim(path: Path) -> None:
    """Give a finished journal its name as a ``.part``; one that another process has made is not replaced."""
    part = unfinished(path)
    with writing(path), suppress(FileExistsError, FileNotFoundError):  # another process was faster
        try:
            os.link(path, part)  # unlike a rename, fails if the name exists
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError:  # a file system without hard links
            path.replace(part)


def made_folders(folder: Path) -> Path:
    """Make a folder and those above it; returns the first one that existed already."""
    first = folder
    while not first.exists():
        first = first.parent
    folder.mkdir(parents=True, exist_ok=True)
    return first


def sync_folders(folder: Path, first: Path) -> None:
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
def writing(path: Path) -> Generator[None]:
    """Convert ``OSError`` to ``JournalError``."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"{path}: cannot be written: {error.strerror or error}") from error
