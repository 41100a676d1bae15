"""The recordings of an evaluation: written as files or packs, read from both by :func:`recording_of`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from toolreel._internal.errors import CassetteError
from toolreel.cassette._file import replace_file
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._session import Session
from toolreel.evals._store.packs import PER_PACK, PackWriter, has_packs, recording_bytes

RecordingForm: TypeAlias = Literal["files", "packs"]
"""A file for each recording, or hundreds in a file."""


def recording_of(folder: Path, name: str) -> Recording:
    """The recording of a run, packed or not, for a replay.

    :param name: the path of the cassette, relative to the directory of the results
    :raises CassetteError: if there is none, or it cannot be read or trusted
    """
    path = folder / name
    try:
        text = recording_bytes(folder, name).decode()
    except UnicodeDecodeError as error:
        raise CassetteError(
            f"{path}: not UTF-8 at byte {error.start}, so no cassette: record again"
        ) from error
    return Recording.of_text(text, path)


class RecordingFiles:
    """A file for each recording."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def session(self, name: str) -> Session:
        """A new recording."""
        return Session.of(self._folder / name, "record")

    def save(self, session: Session, _name: str, known_secrets: Mapping[str, str]) -> bool:
        """Write a recording, if anything was recorded; returns whether it was written.

        :raises SecretFound: if it contains a secret
        :raises CassetteError: if it cannot be written
        """
        return session.save(known_secrets)

    def add(self, recordings: Iterable[tuple[str, bytes]]) -> None:
        """Write recordings that there are already elsewhere."""
        for name, data in recordings:
            replace_file(self._folder / name, data)


class RecordingPacks:
    """Packs of recordings, with the methods of :class:`RecordingFiles`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = PackWriter(folder)

    def session(self, name: str) -> Session:
        """A new recording."""
        return Session.of(self._folder / name, "record")

    def save(self, session: Session, name: str, known_secrets: Mapping[str, str]) -> bool:
        """Append a recording, if anything was recorded; returns whether it was.

        :raises SecretFound: if it contains a secret
        :raises CassetteError: if it cannot be written
        """
        if not session.recording.grown:
            return False
        try:
            text = session.recording.text(known_secrets)
        except CassetteError as error:
            raise type(error)(f"{self._folder / name}: {error}") from error
        self._writer.append(name, text.encode())
        return True

    def add(self, recordings: Iterable[tuple[str, bytes]]) -> None:
        """Append recordings that there are already elsewhere."""
        for some in batched(recordings):
            self._writer.append_all(some)


def copy_recordings(source: Path, names: Iterable[str], target: Path) -> None:
    """Copy recordings into another directory; packed ones are packed there.

    :raises CassetteError: if one is missing, or cannot be written
    """
    into = RecordingPacks(target) if has_packs(source) else RecordingFiles(target)
    into.add((name, recording_bytes(source, name)) for name in names if name)


def batched(recordings: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Recordings in groups that fit into memory."""
    rest = iter(recordings)
    while some := [*islice(rest, PER_PACK)]:
        yield some
