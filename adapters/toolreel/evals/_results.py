"""The directory of an evaluation: its plan, and a line for each run that has ended.

::

    header.json     the plan, versions, and when it was begun
    journal.jsonl   one record a line, in the order in which the runs ended
    cassettes/      a recording a run

A line is on the disk before the next run's is written, so a killed evaluation loses only the runs in flight.
Of several records of one run the last counts: the others were void.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Self

from toolreel._internal import CassetteError, ResultsError, check_format_version
from toolreel._journal import lock_file
from toolreel._secrets import leaks_with_places, tree_texts
from toolreel.cassette import replace_file
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import Tree, as_tree, canonical
from toolreel_core.evals import (
    RECORDS_VERSION,
    Cell,
    EvalPlan,
    Record,
    Trial,
    Verdict,
    record_line,
    record_of,
    record_tree,
    trials_of,
)

if TYPE_CHECKING:
    from toolreel.cassette import Session


@dataclass(frozen=True, slots=True)
class Header:
    """What an evaluation was begun with."""

    created: str
    """When, as ``2026-11-22T08:30:00Z``."""
    versions: Mapping[str, str]
    """Of toolreel and of what it runs on, by name."""
    catalogue: str
    taxonomy: int
    plan: Tree
    shard: str = ""
    """The part of the plan's runs that this machine makes, such as ``1/3``; empty for all of them."""

    def tree(self) -> Tree:
        """The header as it is in its file."""
        values = {each.name: getattr(self, each.name) for each in fields(Header)}
        return {
            "toolreel_evaluation": RECORDS_VERSION,
            **{name: each for name, each in values.items() if each != ""},
        }


def read_header(path: Path) -> Header:
    try:
        tree: Mapping[str, Any] = as_tree(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ResultsError(
            f"{path}: there is no evaluation; name a directory that `toolreel eval run --out` has made"
        ) from None
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}") from None
    version, what = tree.get("toolreel_evaluation"), f"{path}: an evaluation"
    check_format_version(version, RECORDS_VERSION, what, "evaluate into another directory", ResultsError)
    try:
        # Older versions stored more.
        return Header(**{each.name: tree[each.name] for each in fields(Header) if each.name in tree})
    except TypeError:
        raise ResultsError(f"{path}: not the header of an evaluation; restore the file") from None


def write_atomically(path: Path, content: str | bytes) -> None:
    try:
        replace_file(
            path, content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        )
    except CassetteError as error:
        raise ResultsError(str(error)) from error


def write_json(path: Path, tree: Tree) -> None:
    # A tree may have mappings that json does not know.
    write_atomically(path, f"{json.dumps(tree, indent=2, ensure_ascii=False, default=dict)}\n")


_HEADER = "header.json"
_JOURNAL = "journal.jsonl"
_WITHHELD = "(withheld: this run's texts held a secret)"
_UNNAMED: dict[str, Any] = dict.fromkeys(("model", "provider", "fingerprint", "request_id"), "")
"""A request of which nothing is said that its server has written."""


@dataclass(frozen=True, slots=True)
class Results:
    """An evaluation on disk, to be read."""

    path: Path
    header: Header

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """The evaluation in a directory.

        :raises ResultsError: if there is none, or its header cannot be read
        """
        folder = Path(path)
        return cls(folder, read_header(folder / _HEADER))

    def records(self) -> list[Record]:
        """The record of each run that has ended, in the order of the journal.

        A last line that was cut is passed over.

        :raises ResultsError: if a line cannot be read; names the file and the line
        """
        latest: dict[tuple[Cell, int], Record] = {}
        for record in all_records(self.path):
            # A run that was made again moves to the place of its last record.
            latest.pop((record.cell, record.trial), None)
            latest[record.cell, record.trial] = record
        return [*latest.values()]

    def trials(self, plan: EvalPlan) -> tuple[Trial, ...]:
        """The table of all trials, those that are missing too.

        :raises ResultsError: if a line cannot be read
        """
        return trials_in(self.records(), plan)


def trials_in(records: Iterable[Record], plan: EvalPlan) -> tuple[Trial, ...]:
    controls = [each.name for each in plan.scenarios if each.control]
    return trials_of(records, {cell: plan.trials_of(cell) for cell in plan.cells()}, controls, plan.options)


_RESTORE = "restore the file, or evaluate into another directory"


def all_records(folder: Path) -> Iterator[Record]:
    path, place = folder / _JOURNAL, ""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    place = f"{path}, line {number}"
                    yield record_of(line.decode(), place)
    except FileNotFoundError:
        return
    except UnicodeDecodeError:
        raise ResultsError(f"{place}: not UTF-8; {_RESTORE}") from None
    except CodecError as error:
        raise ResultsError(f"{error}; {_RESTORE}") from None
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from error


class EvaluationJournal:
    """The journal of an evaluation that goes on; one process writes it."""

    def __init__(
        self, path: Path, header: Header | None = None, known_secrets: Mapping[str, str] | None = None
    ) -> None:
        self._path = path / _JOURNAL
        self._secrets = known_secrets or {}
        with _convert_storage_errors(self._path):
            path.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._path.open("a+b")
        if not lock_file(self._file):
            self._file.close()
            raise ResultsError(f"{self._path}: another process is writing it; wait for it, or stop it")
        with _convert_storage_errors(self._path):
            self._file.seek(0)
            whole = self._file.read()
            end = whole.rfind(b"\n") + 1
            if whole[end:]:  # a last line that was cut when its process was killed is set aside
                with self._path.with_name(f"{self._path.name}.cut").open("ab") as cut:
                    cut.write(whole[end:] + b"\n")
                self._file.truncate(end)
        if header:
            self.write_header(header)

    def write_header(self, header: Header) -> None:
        path = self._path.with_name(_HEADER)
        before = read_header(path) if path.exists() else None
        write_json(path, (replace(header, created=before.created) if before else header).tree())

    def append(self, record: Record) -> Record:
        """Write the record of a run that has ended; when this returns, it is on the disk.

        :returns: what was written: texts that may hold a secret are withheld
        """
        safe = _without_secrets(record, self._secrets)
        with _convert_storage_errors(self._path):
            self._file.write(f"{record_line(safe)}\n".encode())
            self._file.flush()
            # A sync costs about 1 ms (decision 0026), which is little beside a run.
            os.fsync(self._file.fileno())
        return safe

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _without_secrets(record: Record, secrets: Mapping[str, str]) -> Record:
    # The configuration is the same in all runs of a cell, so it is one text, which is searched once.
    texts = tree_texts({**record_tree(record), "configuration": record.configuration})
    if not any(leaks_with_places(texts, secrets)):
        return record

    def withheld(verdict: Verdict) -> Verdict:
        return replace(verdict, reasons=(_WITHHELD,) if verdict.reasons else ())

    attempts = tuple(
        replace(
            each,
            verdict=withheld(each.verdict),
            asked=tuple(replace(one, **_UNNAMED) for one in each.asked),
            results=(),
        )
        for each in record.attempts
    )
    return replace(
        record,
        verdict=withheld(record.verdict),
        final=_WITHHELD if record.final else "",
        world=canonical(_WITHHELD),
        attempts=attempts,
        error_body=None if record.error_body is None else canonical(_WITHHELD),
        error_hint="",
    )


@contextmanager
def _convert_storage_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error


def recording_of(folder: Path, name: str) -> Session:
    """The recording of a run, for a replay.

    :param name: the path of the cassette, relative to the directory of the results
    """
    from toolreel.cassette import Session  # imports httpx

    return Session(_recording_path(folder, name))


def _recording_path(folder: Path, name: str) -> Path:
    # The name is from a journal, which may come from anywhere.
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise CassetteError(f"{folder}: the recording {name!r} would be outside of it; restore the journal")
    return folder / name


def copy_recordings(source: Path, names: Iterable[str], target: Path) -> None:
    for name in filter(None, names):
        path = _recording_path(source, name)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CassetteError(f"{path}: cannot be read: {error.strerror or error}") from None
        replace_file(target / name, content)
