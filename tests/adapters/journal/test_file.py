"""The journal on disk of a run that was interrupted: reopened, gone on with, and held by one process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.driver.immediate import ImmediateApprover, ImmediateEndpoint, ImmediateTools
from tests.adapters.driver.test_sync import PLAN, SUM, add
from tests.samples import complaint
from toolreel._driver import AsyncPorts, Ports, Run, run
from toolreel._internal import JournalError
from toolreel._journal import FileJournal, MemoryJournal, ReopenedJournal, part_path, read_journal, seal_text
from toolreel._replay import aresume, resume
from toolreel.testing import ScriptedEndpoint
from toolreel.tools import PythonTools, Tool
from toolreel_core._protocol import Completed


def whole() -> str:
    """The journal of a run that was not interrupted."""
    journal = MemoryJournal(PLAN)
    run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    return journal.text


def sealed_text(path: Path) -> str:
    """What a closed journal holds besides its seal and its times."""
    assert '"end":' in path.read_text("utf-8").splitlines()[-1]
    return read_journal(path).text


def killed(folder: Path, lines: int, torn: bytes = b"") -> Path:
    """The journal of a run of which this many lines were written, and a part of the next one."""
    path = folder / "sum.journal.jsonl"
    written = whole().splitlines(keepends=True)[:lines]
    part_path(path).write_bytes("".join(written).encode() + torn)
    return path


def on_sync(path: Path | str, ports: Ports) -> Run:
    return resume(path, ports)


def on_asyncio(path: Path | str, ports: Ports) -> Run:
    awaited = AsyncPorts(
        ImmediateEndpoint(ports.endpoint), ImmediateTools(ports.tools), ImmediateApprover(ports.approver)
    )
    return asyncio.run(aresume(path, awaited))


each_driver = pytest.mark.parametrize("resumed", [on_sync, on_asyncio])


@each_driver
@pytest.mark.parametrize("lines", [1, 2, 3, 4])
def test_a_run_that_was_killed_goes_on_where_it_was(
    lines: int, resumed: Callable[[Path, Ports], Run], tmp_path: Path
) -> None:
    path, calls = killed(tmp_path, lines), list[str]()

    def counted(a: int, b: int) -> int:
        calls.append(f"{a} + {b}")
        return add(a, b)

    answers_left = SUM[{1: 0, 2: 1, 3: 1, 4: 2}[lines] :]
    endpoint = ScriptedEndpoint(answers_left)
    done = resumed(path, Ports(endpoint, PythonTools([Tool.of(counted, name="add")])))
    assert isinstance(done.outcome, Completed)
    assert len(calls) == (1 if lines < 3 else 0)
    assert sealed_text(path) == whole()
    assert [*tmp_path.iterdir()] == [path]


def test_a_last_line_that_was_cut_anywhere_is_taken_away_and_kept(tmp_path: Path) -> None:
    third = whole().splitlines(keepends=True)[2].encode()
    for end in (*range(1, len(third) - 1, 20), len(third) - 2):
        folder = tmp_path / str(end)
        folder.mkdir()
        path = killed(folder, 2, third[:end])
        with ReopenedJournal(path) as journal:
            assert journal.cut == folder / "sum.journal.jsonl.cut"
            assert (folder / "sum.journal.jsonl.cut").read_bytes() == third[:end] + b"\n"
            assert len(journal.recorded.records) == 1
        assert path.read_bytes() == seal_text("".join(whole().splitlines(keepends=True)[:2]))


@pytest.mark.parametrize("torn", [b'{"n":3,"kind"', b'{"n":3}', b"\x00\x00\xff", b"\xe2\x80"])
def test_whatever_a_cut_line_holds_the_run_goes_on_to_the_same_end(torn: bytes, tmp_path: Path) -> None:
    path = killed(tmp_path, 3, torn)
    resume(path, Ports(ScriptedEndpoint(SUM[1:]), PythonTools([add])))
    assert sealed_text(path) == whole()
    assert path.with_name(f"{path.name}.cut").read_bytes() == torn + b"\n"


@each_driver
def test_a_run_that_has_ended_is_given_back_and_nothing_is_done(
    resumed: Callable[[str, Ports], Run], tmp_path: Path
) -> None:
    path = tmp_path / "sum.journal.jsonl"
    path.write_text(whole(), "utf-8")
    done = resumed(f"{path}.part", Ports(ScriptedEndpoint([]), PythonTools([])))
    assert isinstance(done.outcome, Completed)
    assert sealed_text(path) == whole()


def test_a_journal_of_which_nothing_is_whole_cannot_be_gone_on_with(tmp_path: Path) -> None:
    for torn in (b"", b'{"toolreel_journal"'):
        path = killed(tmp_path, 0, torn)
        told = complaint(JournalError, lambda: ReopenedJournal(path))  # noqa: B023
        assert told == f"{path}.part: nothing is recorded yet; if its process has ended, start the run again"
        assert part_path(path).read_bytes() == torn


def test_damage_elsewhere_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    path = killed(tmp_path, 4, b"\xff\n")
    before = part_path(path).read_bytes()
    assert complaint(JournalError, lambda: ReopenedJournal(path)).startswith(
        f"{path}.part: not a readable journal: "
    )
    assert part_path(path).read_bytes() == before
    part_path(path).unlink()
    assert complaint(JournalError, lambda: ReopenedJournal(path)).startswith(
        f"{path}: there is no such journal; "
    )


HOLDING = """
import sys
from pathlib import Path
from toolreel._journal import ReopenedJournal
with ReopenedJournal(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_process_at_a_time_writes_a_journal(tmp_path: Path) -> None:
    path = killed(tmp_path, 2)
    before = part_path(path).read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        told = f"{path}.part: another process is writing it; wait until it has ended, or stop it"
        assert complaint(JournalError, lambda: ReopenedJournal(path)) == told
        assert complaint(JournalError, lambda: FileJournal(path, PLAN, overwrite=True)) == told
        assert complaint(JournalError, lambda: FileJournal(path, PLAN)) == told
        assert part_path(path).read_bytes().rstrip() == before.rstrip()
        other.kill()
    with ReopenedJournal(path) as journal:
        assert len(journal.recorded.records) == 1
