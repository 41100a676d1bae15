"""Pack the recordings of an evaluation, or make files of them again; nothing of their content changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from toolreel._internal.errors import CassetteError
from toolreel.evals._store.packs import PackWriter, packed_names, packs_in, recording_bytes
from toolreel.evals._store.recordings import RecordingFiles, batched
from toolreel.evals._store.results import Journal, all_records, read_header
from toolreel_core._jsontext.digest import chain


@dataclass(frozen=True, slots=True)
class PackingOutcome:
    """What was packed or unpacked."""

    recordings: int
    """How many there are, those included that were in that form before."""
    files: int
    """How many files hold them now."""
    digest: str
    """Of the name and the bytes of each recording, in the order of names; the same before and after."""


def recordings_digest(folder: Path) -> str:
    """The digest of all recordings of an evaluation, packed or not."""
    return _digest(folder, _names(folder))


def pack_recordings(folder: Path) -> PackingOutcome:
    """Pack the recordings of an evaluation, in the order of its journal.

    :raises ResultsError: if there is no evaluation, or a process is writing it
    :raises CassetteError: if a recording cannot be read, or not be written
    """
    read_header(folder / "header.json")
    with Journal(folder):
        names = _names(folder)
        before, packed = _digest(folder, names), packed_names(folder)
        order = dict.fromkeys(record.cassette for record in all_records(folder) if record.cassette in names)
        waiting = [name for name in dict.fromkeys((*order, *sorted(names))) if name not in packed]
        writer = PackWriter(folder)
        for some in batched((name, recording_bytes(folder, name)) for name in waiting):
            writer.append_all(some)
        if _digest(folder, names) != before:
            raise CassetteError(f"{folder}: the packs are not what was there; the files were kept")
        for name in names:
            with suppress(FileNotFoundError):
                (folder / name).unlink()
        _remove_empty(folder / "cassettes")
        return PackingOutcome(len(names), len(packs_in(folder)), before)


def unpack_recordings(folder: Path) -> PackingOutcome:
    """Write each packed recording to a file of its own.

    :raises ResultsError: if there is no evaluation, or a process is writing it
    :raises CassetteError: if a recording cannot be read, or not be written
    """
    read_header(folder / "header.json")
    with Journal(folder):
        names, packs = _names(folder), packs_in(folder)
        before = _digest(folder, names)
        files = RecordingFiles(folder)
        files.add((name, recording_bytes(folder, name)) for name in sorted(packed_names(folder)))
        if _digest_of((name, (folder / name).read_bytes()) for name in sorted(names)) != before:
            raise CassetteError(f"{folder}: the files are not what was packed; the packs were kept")
        for pack in packs:
            pack.unlink()
        _remove_empty(folder / "packs")
        return PackingOutcome(len(names), len(names), before)


def _names(folder: Path) -> frozenset[str]:
    """The names of all recordings."""
    files = (path.relative_to(folder).as_posix() for path in (folder / "cassettes").rglob("*.yaml"))
    return packed_names(folder) | frozenset(files)


def _digest(folder: Path, names: Iterable[str]) -> str:
    return _digest_of((name, recording_bytes(folder, name)) for name in sorted(names))


def _digest_of(recordings: Iterable[tuple[str, bytes]]) -> str:
    return chain("recordings", *_parts(recordings))


def _parts(recordings: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    for name, data in recordings:
        yield name
        yield sha256(data).hexdigest()


def _remove_empty(folder: Path) -> None:
    """Remove a folder and those in it that have no files; others stay."""
    for inner in sorted(folder.rglob("*"), reverse=True):
        with suppress(OSError):
            inner.rmdir()
    with suppress(OSError):
        folder.rmdir()
