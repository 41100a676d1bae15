"""The recordings of an evaluation: one cassette a run, named in its record."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from toolreel._internal import CassetteError
from toolreel.cassette import Recording, replace_file


def recording_of(folder: Path, name: str) -> Recording:
    """The recording of a run, for a replay.

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


def recording_bytes(folder: Path, name: str) -> bytes:
    """The recording of a run as it is in its file.

    :param name: the path of the cassette, relative to the directory of the results
    :raises CassetteError: if there is none, or the name leads out of the directory
    """
    # The name is from a journal, which may come from anywhere.
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise CassetteError(f"{folder}: the recording {name!r} would be outside of it; restore the journal")
    path = folder / name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CassetteError(f"{path}: there is no such cassette: record it first") from None
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror or error}") from None


def copy_recordings(source: Path, names: Iterable[str], target: Path) -> None:
    """Copy recordings into another directory.

    :raises CassetteError: if one is missing, or cannot be written
    """
    for name in filter(None, names):
        replace_file(target / name, recording_bytes(source, name))
