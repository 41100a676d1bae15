"""Packs: many recordings in one file, appended while runs end.

::

    packs/recordings-0001.yaml   a stream of YAML documents
    packs/recordings-0002.yaml   begun once the first has 500

Each document is a cassette, byte for byte, after a heading that says which, how long it is, and its digest::

    --- # cassettes/vendor__model/raw/one__default__best_effort__off__01__29bae4e0.yaml 8214 sha256:5f…

So a pack can be read, searched and compared like a cassette. The index is the headings, which are found by
going from one to the next; nothing else has to be kept in step. A recording is on the disk before the record
that names it is written; a document that was cut when its process was killed belongs to a run that is made
again. Of several documents of one name the last counts, and a document counts before a file of that name,
because :func:`~toolreel.evals._store.packing.pack_recordings` removes files only once they are packed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import starmap
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

from toolreel._internal.errors import CassetteError

MANY_RUNS: Final = 1_000
"""Plans of more runs have their recordings packed."""
PER_PACK: Final = 500
_LARGE: Final = 64_000_000
"""Bytes after which a pack is not continued."""
_FOLDER: Final = "packs"
_HEADING: Final = re.compile(rb"--- # (cassettes/\S+) ([0-9]+) sha256:([0-9a-f]{64})\n")
_LATER_HEADING: Final = re.compile(rb"^--- # cassettes/", re.MULTILINE)
"""Inside a cassette, no text begins a line."""
_HEADING_LENGTH: Final = 2_000


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a recording is in its pack."""

    begin: int
    length: int
    digest: str


def has_packs(folder: Path) -> bool:
    """Whether recordings of an evaluation are packed."""
    return bool(packs_in(folder))


def packs_in(folder: Path) -> list[Path]:
    """The packs of an evaluation, the oldest first."""
    return sorted((folder / _FOLDER).glob("recordings-*.yaml"))


def recording_bytes(folder: Path, name: str) -> bytes:
    """The recording of a run, packed or not.

    :param name: the path of the cassette, relative to the directory of the results
    :raises CassetteError: if there is none, or it was changed
    """
    if not _is_inside(name):
        raise CassetteError(f"{folder}: the recording {name!r} would be outside of it; restore the journal")
    for pack in reversed(packs_in(folder)):
        if place := _index(pack).get(name):
            return _read(pack, name, place)
    path = folder / name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CassetteError(f"{path}: there is no such cassette: record it first") from None
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror or error}") from None


def _is_inside(name: str) -> bool:
    """Whether a name from a journal, which may come from anywhere, is below its directory."""
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts


def packed_names(folder: Path) -> frozenset[str]:
    """The names of all packed recordings."""
    return frozenset(name for pack in packs_in(folder) for name in _index(pack))


class PackWriter:
    """Appends recordings to the packs of an evaluation; one process does, from any thread.

    :raises CassetteError: if a pack cannot be written; so for all methods
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._number, self._count, self._size = 1, 0, 0
        if packs := packs_in(folder):
            self._number = int(packs[-1].stem.rpartition("-")[2])
            self._mend(packs[-1])

    def append(self, name: str, data: bytes) -> None:
        """Write a recording, and remove a file of that name; when this returns, it is on the disk."""
        self._write(_document(name, data), 1)
        with suppress(FileNotFoundError):
            (self._folder / name).unlink()

    def append_all(self, recordings: Iterable[tuple[str, bytes]]) -> None:
        """Write many recordings, a pack at a time; when this returns, all are on the disk."""
        waiting = [*recordings]
        while waiting:
            room = PER_PACK - self._count if self._count < PER_PACK else PER_PACK
            now, waiting = waiting[:room], waiting[room:]
            self._write(b"".join(starmap(_document, now)), len(now))

    def _write(self, documents: bytes, count: int) -> None:
        with self._lock:
            if self._count >= PER_PACK or self._size >= _LARGE:
                self._number, self._count, self._size = self._number + 1, 0, 0
            path = self._folder / _FOLDER / f"recordings-{self._number:04}.yaml"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(documents)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                with suppress(CassetteError):
                    self._mend(path)  # or the next one would follow half a document
                raise CassetteError(f"{path}: cannot be written: {error.strerror or error}") from error
            self._count += count
            self._size += len(documents)

    def _mend(self, path: Path) -> None:
        """Set aside what was cut, and count the rest."""
        found = [*_documents(path)]
        end = found[-1][1].begin + found[-1][1].length if found else 0
        try:
            with path.open("r+b") as file:
                file.seek(end)
                if rest := file.read():
                    with path.with_name(f"{path.name}.cut").open("ab") as cut:
                        cut.write(rest)
                    file.truncate(end)
        except OSError as error:
            raise CassetteError(f"{path}: cannot be written: {error.strerror or error}") from error
        self._count, self._size = len(found), end


def _document(name: str, data: bytes) -> bytes:
    return f"--- # {name} {len(data)} sha256:{sha256(data).hexdigest()}\n".encode() + data


def _index(pack: Path) -> dict[str, _Place]:
    """Where each recording of a pack is; read again only when the pack has changed."""
    try:
        now = pack.stat()
    except OSError as error:
        raise CassetteError(f"{pack}: cannot be read: {error.strerror or error}") from None
    return _index_of(pack, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=512)
def _index_of(pack: Path, _size: int, _time: int) -> dict[str, _Place]:
    return dict(_documents(pack))


def _documents(pack: Path) -> Iterator[tuple[str, _Place]]:
    """The whole documents of a pack; one at the end that was cut is passed over.

    :raises CassetteError: if there is something between them
    """
    try:
        with pack.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            while line := file.readline(_HEADING_LENGTH):
                heading = _HEADING.fullmatch(line)
                begin = file.tell()
                if heading is None:
                    if begin < size or line.endswith(b"\n"):
                        at = begin - len(line)
                        raise CassetteError(f"{pack}: at byte {at}, expected a heading; restore the file")
                    return
                length = int(heading[2])
                if begin + length > size:
                    if _LATER_HEADING.search(file.read()):
                        raise CassetteError(f"{pack}: at byte {begin}, a length is wrong; restore the file")
                    return
                yield heading[1].decode(), _Place(begin, length, heading[3].decode())
                file.seek(begin + length)
    except OSError as error:
        raise CassetteError(f"{pack}: cannot be read: {error.strerror or error}") from None


def _read(pack: Path, name: str, place: _Place) -> bytes:
    try:
        with pack.open("rb") as file:
            file.seek(place.begin)
            data = file.read(place.length)
    except OSError as error:
        raise CassetteError(f"{pack}: cannot be read: {error.strerror or error}") from None
    if sha256(data).hexdigest() != place.digest:
        raise CassetteError(f"{pack}: {name} is not what was recorded; restore the file")
    return data
