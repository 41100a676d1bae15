"""The directory of an evaluation: what was asked for, and a line for each run that has ended.

::

    header.json     the plan, versions, and when it was begun
    journal.jsonl   one record a line, in the order in which the runs ended
    cassettes/      a recording a run

A line is on the disk before the next run's is written, so a killed evaluation loses the runs that were
under way and nothing else. Of several records of one run the last counts: the others were void, or made
under a configuration that was changed since.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from toolreel.errors import CodecError
from toolreel.evals.record_lines import record_line, record_of
from toolreel.evals.records import VERSION, Record
from toolreel.jsontext import Json, Tree
from toolreel_adapters.errors import ResultsError
from toolreel_adapters.locking import taken
from toolreel_adapters.secret_places import refuse_secrets_in_line

__all__ = ["Header", "Journal", "Results"]

_HEADER: Final = "header.json"
_JOURNAL: Final = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class Header:
    """What an evaluation was begun with."""

    plan: Tree
    """The plan, as :meth:`~toolreel.evals.planning.EvalPlan.tree` tells it."""
    created: str = ""
    """When, as ``2026-11-22T08:30:00Z``."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of toolreel and of what it runs on, by name."""
    catalogue: str = ""
    """The digest of the catalogue of presets, models and sampling profiles."""
    taxonomy: int = 1
    """The version of the categories."""
    version: int = VERSION
    """Of the form of header and records."""

    def tree(self) -> Tree:
        """The header as it stands in its file."""
        return {
            "toolreel_evaluation": self.version,
            "created": self.created,
            "versions": dict(self.versions),
            "catalogue": self.catalogue,
            "taxonomy": self.taxonomy,
            "plan": self.plan,
        }


@dataclass(frozen=True, slots=True)
class Results:
    """An evaluation on disk, to be read."""

    path: Path
    header: Header
    offsets: Mapping[tuple[str, ...], int]
    """Where in the journal the record that counts begins, by cell and trial."""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """The evaluation in a directory; a last line that was cut is passed over.

        :raises ResultsError: if there is none, or it cannot be read; names the file and the line
        """
        folder = Path(path)
        header = _header(folder / _HEADER)
        offsets: dict[tuple[str, ...], int] = {}
        for offset, _, record in _lines(folder / _JOURNAL):
            offsets[_run_of(record)] = offset
        return cls(folder, header, offsets)

    def records(self) -> Iterator[Record]:
        """The record of each run that has ended, read one by one; in the order of the journal.

        :raises ResultsError: if a line cannot be read
        """
        counting = set(self.offsets.values())
        for offset, _, record in _lines(self.path / _JOURNAL):
            if offset in counting:
                yield record

    def __len__(self) -> int:
        return len(self.offsets)


class Journal:
    """The journal of an evaluation that goes on; one process writes it.

    :param path: the evaluation's directory, which is made where there is none
    :param known_secrets: values by name that must not be written
    :raises ResultsError: if another process is writing it, or if it cannot be written; so for all methods
    """

    def __init__(self, path: Path, header: Header, known_secrets: Mapping[str, str] | None = None) -> None:
        self._path = path / _JOURNAL
        self._secrets = known_secrets or {}
        with _writing(self._path):
            path.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._path.open("a+b")
        if not taken(self._file):
            self._file.close()
            raise ResultsError(f"{self._path}: another process is writing it; wait for it, or stop it")
        with _writing(self._path):
            self._mend()
            _replaced(path / _HEADER, header)

    def append(self, record: Record) -> None:
        """Write the record of a run that has ended; when this returns, it is on the disk.

        :raises SecretFound: if it holds a secret; it is not written
        """
        line = record_line(record)
        refuse_secrets_in_line(line, self._secrets, f"{self._path}, the record {record.key[:12]}")
        with _writing(self._path):
            self._file.write(f"{line}\n".encode())
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _mend(self) -> None:
        """Set a last line aside that was cut when its process was killed."""
        self._file.seek(0)
        end, last = 0, b""
        for line in self._file:
            last = line
            end += len(line) if line.endswith(b"\n") else 0
        if last and not last.endswith(b"\n"):
            with self._path.with_name(f"{self._path.name}.cut").open("ab") as cut:
                cut.write(last + b"\n")
            self._file.truncate(end)
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def _run_of(record: Record) -> tuple[str, ...]:
    """What a record is about, whatever its configuration was."""
    return (*record.cell.task, record.cell.scenario, str(record.trial))


def _lines(path: Path) -> Iterator[tuple[int, int, Record]]:
    """Each whole line, with where it begins and its number from 1 on."""
    offset = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                yield offset, number, _record(line, f"{path}, line {number}")
                offset += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from error


def _record(line: bytes, place: str) -> Record:
    try:
        return record_of(line.decode(), place)
    except (UnicodeDecodeError, CodecError) as error:
        told = str(error) if isinstance(error, CodecError) else f"{place}: not UTF-8"
        raise ResultsError(f"{told}; restore the file, or evaluate into another directory") from None


def _header(path: Path) -> Header:
    try:
        tree: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultsError(
            f"{path}: there is no evaluation; name a directory that `toolreel eval run --out` has made"
        ) from None
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}") from None
    if not isinstance(tree, dict) or tree.get("toolreel_evaluation") != VERSION:
        found = tree.get("toolreel_evaluation") if isinstance(tree, dict) else tree
        raise ResultsError(f"{path}: of version {found!r}; this toolreel reads version {VERSION}")
    try:
        return Header(
            plan=_object(tree, "plan"),
            created=str(tree["created"]),
            versions={str(name): str(version) for name, version in _object(tree, "versions").items()},
            catalogue=str(tree["catalogue"]),
            taxonomy=int(tree["taxonomy"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(f"{path}: {error} is missing or wrong; restore the file") from None


def _object(tree: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = tree[key]
    if not isinstance(value, Mapping):
        raise TypeError(key)
    return value


def _replaced(path: Path, header: Header) -> None:
    """Write the header beside the old one, and move it into its place once it is on the disk."""
    draft = path.with_name(f".{path.name}.tmp")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(header.tree(), file, indent=2, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """What the file system refuses is the evaluation's error."""
    try:
        yield
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
