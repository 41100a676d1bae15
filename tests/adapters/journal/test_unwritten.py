"""Journals that cannot be written: a full disk, a deleted folder, a secret, a process that forks."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.adapters.driver.immediate import ImmediateEndpoint, ImmediateTools
from tests.adapters.driver.test_sync import PLAN, SUM, add
from tests.adapters.journal.test_file import whole
from tests.samples import complaint
from toolreel._driver import AsyncPorts, Ports, Run, arun, run
from toolreel._internal import JournalError
from toolreel._journal import (
    FileJournal,
    Reason,
    ReopenedJournal,
    fsync_folder_and_ancestors,
    is_withheld_result,
    make_folders,
    part_path,
    read_journal,
    withhold_result,
)
from toolreel._replay import replay, resume
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools import PythonTools, Tool
from toolreel_core._conversation import ToolMessage
from toolreel_core._plan import Plan
from toolreel_core._protocol import Completed, ToolReturned

KEY = "sk-" + "Zx81" * 8
TURNS = 6
SCRIPT = [*[calling(("book", {"room": room})) for room in range(TURNS)], saying("Done.")]


class Hotel:
    """Rooms that must not be booked twice."""

    def __init__(self, paper: str = "") -> None:
        self.booked: list[int] = []
        self.paper = paper
        self.tools = PythonTools([Tool.of(self.book, name="book")], deadline=None)
        self.plan = Plan.of(model="m", messages="Book six rooms.", tools=self.tools.surface)

    def book(self, room: int) -> dict[str, object]:
        """Book a room."""
        self.booked.append(room)
        return {"room": room, "paper": self.paper}


def on_sync(plan: Plan, ports: Ports, journal: FileJournal) -> Run:
    return run(plan, ports, journal=journal)


def on_asyncio(plan: Plan, ports: Ports, journal: FileJournal) -> Run:
    awaited = AsyncPorts(ImmediateEndpoint(ports.endpoint), ImmediateTools(ports.tools))
    return asyncio.run(arun(plan, awaited, journal=journal))


Driver = Callable[[Plan, Ports, FileJournal], Run]
each_driver = pytest.mark.parametrize("driver", [on_sync, on_asyncio])


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A file system of 40 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(place)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(command, check=False).returncode:
        pytest.skip("needs root, to mount a small file system")
    yield place
    subprocess.run(["/bin/umount", str(place)], check=True)


@each_driver
@pytest.mark.parametrize("free", [4, 8, 12, 16, 20])
@pytest.mark.parametrize("durable", [False, True])
def test_a_run_on_a_full_disk_ends_before_its_next_effect_and_is_resumed_without_repeating_a_call(
    free: int, durable: bool, driver: Driver, small_disk: Path
) -> None:
    ballast, path = small_disk / "ballast", small_disk / "hotel.journal.jsonl"
    ballast.write_bytes(b"x" * (40 - free) * 1024)
    hotel = Hotel("p" * 3000)
    endpoint = ScriptedEndpoint(SCRIPT)

    def recorded() -> None:
        with FileJournal(path, hotel.plan, durable=durable) as journal:
            driver(hotel.plan, Ports(endpoint, hotel.tools), journal)

    told = complaint(JournalError, recorded)
    assert told == f"{path}: cannot be written: {os.strerror(28)}"
    assert len(hotel.booked) == len([event for event in left(path) if isinstance(event, ToolReturned)])
    asked = len(endpoint.asked)
    ballast.unlink()
    replies = len([event for event in left(path) if not isinstance(event, ToolReturned)])
    assert asked - replies in {0, 1}
    done = resume(path, Ports(ScriptedEndpoint(SCRIPT[replies:]), hotel.tools))
    assert done.outcome == Completed("Done.")
    assert hotel.booked == [*range(TURNS)], "a call that was done was made again"
    assert replay(path).run == done


def left(path: Path) -> tuple[object, ...]:
    return read_journal(part_path(path)).events


def test_a_result_that_the_disk_has_no_place_for_is_recorded_as_lost(small_disk: Path) -> None:
    path, hotel = small_disk / "hotel.journal.jsonl", Hotel("p" * 100_000)
    with pytest.raises(JournalError), FileJournal(path, hotel.plan) as journal:
        run(hotel.plan, Ports(ScriptedEndpoint(SCRIPT), hotel.tools), journal=journal)
    assert hotel.booked == [0]
    event = left(path)[-1]
    assert isinstance(event, ToolReturned)
    assert is_withheld_result(event)
    hotel.paper = ""
    done = resume(path, Ports(ScriptedEndpoint(SCRIPT[1:]), hotel.tools))
    assert hotel.booked == [*range(TURNS)]
    assert "RESULT_WITHHELD: The tool ran, but its result could not be saved" in results(done)[0]


def results(run: Run) -> list[str]:
    return [
        str(message.content) for message in run.state.messages.messages if isinstance(message, ToolMessage)
    ]


@each_driver
def test_a_result_that_holds_a_secret_is_withheld_and_its_call_made_once(
    driver: Driver, tmp_path: Path
) -> None:
    path, hotel = tmp_path / "hotel.journal.jsonl", Hotel(f"the key is {KEY}")
    with FileJournal(path, hotel.plan) as journal:
        done = driver(hotel.plan, Ports(ScriptedEndpoint(SCRIPT), hotel.tools), journal)
    assert done.outcome == Completed("Done.")
    assert journal.withheld[0] == (
        f"{path}, line 3: not written, it holds API key at event.output.paper; "
        "keep secrets out of prompts and tool results"
    )
    assert KEY not in path.read_text()
    assert all(
        "RESULT_WITHHELD: The tool ran, but its result holds a secret" in each for each in results(done)
    )
    assert replay(path).run == done
    assert replay(path, tools=lambda: [Tool.of(hotel.book, name="book")]).run == done


@pytest.mark.parametrize("stop", range(2, 2 * TURNS + 1))
def test_a_call_whose_result_was_withheld_is_not_made_again_by_a_resume(stop: int, tmp_path: Path) -> None:
    path, hotel = tmp_path / "hotel.journal.jsonl", Hotel(KEY)
    with FileJournal(path, hotel.plan) as journal:
        run(hotel.plan, Ports(ScriptedEndpoint(SCRIPT), hotel.tools), journal=journal)
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    part_path(path).write_bytes(b"".join(lines[: stop + 1]))
    hotel.booked = [*range(stop // 2)]
    resumed = resume(path, Ports(ScriptedEndpoint(SCRIPT[(stop + 1) // 2 :]), hotel.tools))
    assert hotel.booked == [*range(TURNS)]
    assert replay(path).run == resumed


@pytest.mark.parametrize("reason", ["secret", "unwritten"])
@pytest.mark.parametrize(
    "output", ['{"a":1}', "7", "not JSON", '{"ok":true,"data":{}}', '{"ok":false,"errors":[]}']
)
def test_a_withheld_result_says_whether_the_call_succeeded(output: str, reason: Reason) -> None:
    event = ToolReturned(2, output, 7)
    assert not is_withheld_result(event)
    kept = withhold_result(event, reason)
    assert is_withheld_result(kept)
    assert (kept.ref, kept.at_ms) == (2, 7)
    assert ('"ok":true' in kept.output) == ('"ok":false' not in output)


def test_a_folder_that_was_deleted_is_noticed_at_the_next_event(tmp_path: Path) -> None:
    folder, hotel = tmp_path / "runs", Hotel()
    path = folder / "hotel.journal.jsonl"
    journal = FileJournal(path, hotel.plan)
    book = hotel.book

    def deleting(room: int) -> dict[str, object]:
        """Book a room."""
        if room == 1:
            shutil.rmtree(folder)
        return book(room)

    tools = PythonTools([Tool.of(deleting, name="book")], deadline=None)
    endpoint = ScriptedEndpoint(SCRIPT)
    told = complaint(JournalError, lambda: run(hotel.plan, Ports(endpoint, tools), journal=journal))
    assert told == f"{path}.part: it was deleted or replaced while the run was recorded in it"
    assert hotel.booked == [0, 1]
    assert len(endpoint.asked) == 2
    journal.close()
    assert not folder.exists()


def test_a_journal_that_was_replaced_is_not_renamed_over_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = FileJournal(path, PLAN)
    part_path(path).unlink()
    with FileJournal(path, PLAN) as other:
        told = complaint(JournalError, journal.close)
        assert told.endswith("it was deleted or replaced while the run was recorded in it")
        run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=other)
    assert len(read_journal(path).events) == 3


def test_new_folders_are_synced_up_to_the_first_that_existed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def noting(descriptor: int) -> None:
        name = os.readlink(f"/proc/self/fd/{descriptor}") if sys.platform == "linux" else "?"
        synced.append(os.path.relpath(name, tmp_path))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    with FileJournal(tmp_path / "a" / "b" / "c" / "j.jsonl", PLAN, durable=True):
        folders = [name for name in synced if "j.jsonl" not in name]
    if sys.platform == "linux":
        assert folders == ["a/b/c", "a/b", "a", "."]
        assert synced[-1] == "a/b/c", "the folder has the new name, too"
    assert make_folders(tmp_path / "a" / "d") == tmp_path / "a"
    fsync_folder_and_ancestors(Path("/"), tmp_path)


FORKING = """
import os, sys
from pathlib import Path
from toolreel._journal import FileJournal
from toolreel._internal import JournalError
from toolreel_core._plan import Plan
from toolreel_core._protocol import CancelRequested
journal = FileJournal(Path(sys.argv[1]), Plan.of(model="m", messages="hi"))
if not os.fork():
    with journal:
        try:
            journal.record(None, CancelRequested("from the child"))
        except JournalError as error:
            print(error, flush=True)
    os._exit(0)
os.wait()
assert Path(sys.argv[1] + ".part").exists()
journal.record(None, CancelRequested("from the parent"))
journal.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_journal_to_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FORKING, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        f"{path}.part: the process that forked this one records there; open a journal of its own\n"
    )
    assert [str(event) for event in read_journal(path).events] == [
        "CancelRequested(reason='from the parent')"
    ]


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_finished_journal_that_lost_its_end_is_resumed(cut: int, tmp_path: Path) -> None:
    path, hotel = tmp_path / "hotel.journal.jsonl", Hotel()
    with FileJournal(path, hotel.plan) as journal:
        run(hotel.plan, Ports(ScriptedEndpoint(SCRIPT), hotel.tools), journal=journal)
    whole, content = read_journal(path).text, path.read_bytes()
    path.write_bytes(content[:-cut])
    with ReopenedJournal(path) as reopened:
        assert (reopened.cut is None) == (cut == 1)
    resume(path, Ports(ScriptedEndpoint(SCRIPT[-1:]), hotel.tools))
    assert read_journal(path).text == whole


def test_a_claim_that_was_interrupted_is_taken_up_by_whoever_comes_next(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    for _ in range(2):
        path.write_text(whole())
        os.link(path, part_path(path))
        with ReopenedJournal(path) as journal:
            assert not path.exists()
            assert len(journal.recorded.records) == 3
        assert [*tmp_path.iterdir()] == [path]
    os.link(path, part_path(path))
    with FileJournal(path, PLAN, overwrite=True):
        assert read_journal(path).text == whole(), "the old file stays until the new one is whole"
    assert [*tmp_path.iterdir()] == [path]
    assert read_journal(path).events == ()
