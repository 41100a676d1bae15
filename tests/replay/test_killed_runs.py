"""A run that is killed at a random moment and resumed is the run that was not killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from tests.replay import killed
from toolreel._journal import Recorded, parse_unclosed_journal, part_path, read_journal
from toolreel._replay import retrace
from toolreel.testing import calling, saying
from toolreel_core._jsontext import canonical
from toolreel_core._protocol import RunSettled, RunTool

TURNS = 5
ROOT = Path(__file__).parents[2]


class Booking(BaseHTTPRequestHandler):
    """Answers by what it is asked alone, so that asking again changes nothing."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # a killed process hangs up
            super().handle()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        turn = sum(message["role"] == "assistant" for message in asked["messages"])
        wanted = calling(("book", {"room": turn}), ("pay", {"room": turn}))
        body = canonical(wanted if turn < TURNS else saying("Done.")).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def booking() -> Generator[str]:
    """The URL of a server that wants rooms to be booked and paid for."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Booking) as http:
        http.daemon_threads = True
        http.block_on_close = False
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}"
        finally:
            http.shutdown()
            thread.join()


@dataclass(slots=True)
class Runs:
    """Runs in processes of their own."""

    process: subprocess.Popen[str]
    url: str

    def hold(
        self, mode: str, folder: Path, kill_after: float | None = None, limit: int | None = None
    ) -> bool:
        """Begin a run, or go on with it; whether it came to its end before it was killed.

        :param limit: the size in bytes at which a file is full
        """
        asked = {"mode": mode, "folder": str(folder), "url": self.url, "kill_after": kill_after}
        asked = {**asked, "limit": limit}
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{json.dumps(asked)}\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        assert code in {0, -signal.SIGKILL}, "the run failed; its traceback stands above"
        return code == 0


@pytest.fixture
def runs() -> Generator[Runs]:
    with (
        booking() as url,
        subprocess.Popen(
            [sys.executable, "-m", "tests.replay.killed"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        yield Runs(process, url)
        assert process.stdin
        process.stdin.close()


def acts(folder: Path) -> list[str]:
    path = folder / "acts"
    return path.read_text().splitlines() if path.exists() else []


def left(folder: Path) -> Recorded | None:
    """What a kill left, as far as it is whole; nothing if the run had not begun."""
    path = folder / f"{killed.NAME}.journal.jsonl"
    path = path if path.exists() else part_path(path)
    data = path.read_bytes() if path.exists() else b""
    return parse_unclosed_journal(data, path)[0] if b"\n" in data else None


def completed_calls(recorded: Recorded) -> set[str]:
    """The keys of the calls whose results are in a journal."""
    traced = retrace(recorded).events
    return {each.effect.key for each in traced if isinstance(each.effect, RunTool)}


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A run that was left alone."""

    digest: str
    keys: list[str]
    seconds: float

    @classmethod
    def held(cls, runs: Runs, folder: Path, mode: str = "run") -> Undisturbed:
        """Hold one."""
        folder.mkdir()
        begun = time.perf_counter()
        assert runs.hold(mode, folder)
        seconds = time.perf_counter() - begun
        return cls(read_journal(folder / f"{killed.NAME}.journal.jsonl").digest, acts(folder), seconds)


def kill_and_resume(
    runs: Runs, folder: Path, random: Random, seconds: float, modes: tuple[str, str]
) -> Counter[str]:
    """Kill a run, and some of its resumptions, and resume it until it has ended; count what happened.

    :param seconds: within which the kills come
    :param modes: how it is begun, and how it is resumed
    """
    found = Counter[str]()
    begin, go_on = modes
    folder.mkdir()
    ended = runs.hold(begin, folder, random.uniform(0, seconds))
    while not ended:
        recorded, before = left(folder), Counter(acts(folder))
        if recorded is None:  # not even its header was written: there is nothing to go on with
            return Counter()
        found["kills"] += 1
        done = completed_calls(recorded)
        ended = runs.hold(go_on, folder, random.uniform(0, seconds) if random.random() < 0.3 else None)
        after = Counter(acts(folder))
        again = [key for key in done if after[key] > before[key]]
        assert not again, "a call whose result was in the journal was made again"
        found["results kept"] += len(done)
    made = acts(folder)
    found["calls made twice"] += len(made) - len({*made})
    return found


def assert_kills_change_nothing(
    runs: Runs, folder: Path, kills: int, seed: int, modes: tuple[str, str] = ("run", "resume")
) -> Counter[str]:
    """Kill runs that many times, and hold what becomes of each against the run that was left alone."""
    random, found = Random(seed), Counter[str]()
    Undisturbed.held(runs, folder / "warming-up", modes[0])
    want = Undisturbed.held(runs, folder / "undisturbed", modes[0])
    assert len(want.keys) == len({*want.keys}) == 2 * TURNS
    for trial in count():
        if found["kills"] >= kills:
            return found
        place = folder / str(trial)
        told = kill_and_resume(runs, place, random, want.seconds, modes)
        if told:
            assert read_journal(place / f"{killed.NAME}.journal.jsonl").digest == want.digest
            assert {*acts(place)} == {*want.keys}
        found += told
    raise AssertionError


def test_runs_that_are_killed_at_random_moments_end_as_if_nothing_had_happened(
    runs: Runs, tmp_path: Path
) -> None:
    found = assert_kills_change_nothing(runs, tmp_path, 10, seed=1)
    assert found["results kept"]


def test_conversations_that_are_killed_at_random_moments_end_as_if_nothing_had_happened(
    runs: Runs, tmp_path: Path
) -> None:
    found = assert_kills_change_nothing(runs, tmp_path, 10, seed=3, modes=("talk", "talk"))
    assert found["results kept"]
    recorded = read_journal(tmp_path / "undisturbed" / f"{killed.NAME}.journal.jsonl")
    ends = [note.outcome for note in retrace(recorded).run.notes if isinstance(note, RunSettled)]
    assert ends == ["max_turns", *["completed"] * len(killed.SAID)]


@pytest.mark.slow
def test_runs_that_are_killed_at_200_random_moments_end_as_if_nothing_had_happened(
    runs: Runs, tmp_path: Path
) -> None:
    found = assert_kills_change_nothing(runs, tmp_path, 200, seed=2)
    assert found["results kept"] > 200, dict(found)
    sys.stderr.write(f"{dict(found)}\n")


def limits(journal: Path) -> list[int]:
    """Sizes at which the journal of a run is full: around the end of each line, and within it."""
    found, end = set[int](), 0
    for line in journal.read_bytes().splitlines(keepends=True):
        found |= {end + len(line) // 2, end + len(line) - 1, end + len(line), end + len(line) + 1_000}
        end += len(line)
    return sorted(found)


def assert_full_disks_repeat_nothing(
    runs: Runs, folder: Path, sizes: Callable[[list[int]], list[int]]
) -> int:
    """Fill the disk of a run at each size, then make room and resume it; how many calls were made before."""
    Undisturbed.held(runs, folder / "warming-up")
    want = Undisturbed.held(runs, folder / "undisturbed")
    kept = 0
    for limit in sizes(limits(folder / "undisturbed" / f"{killed.NAME}.journal.jsonl")):
        place = folder / str(limit)
        place.mkdir()
        try:
            runs.hold("run", place, limit=limit)
        except AssertionError:
            assert not acts(place), "a run that cannot write its first line does nothing"
            continue
        before = acts(place)
        if not before and left(place) is None:  # nothing was done that a record would have to keep
            continue
        runs.hold("resume", place)
        made = acts(place)
        assert len(made) == len({*made}), f"full at {limit}: a call that was done was made again"
        assert {*made} == {*want.keys}
        kept += len(before)
    return kept


def test_runs_on_a_full_disk_stop_and_repeat_no_call(runs: Runs, tmp_path: Path) -> None:
    assert assert_full_disks_repeat_nothing(runs, tmp_path, lambda sizes: sizes[::5])


@pytest.mark.slow
def test_runs_on_a_disk_that_is_full_at_any_write_stop_and_repeat_no_call(runs: Runs, tmp_path: Path) -> None:
    assert assert_full_disks_repeat_nothing(runs, tmp_path, lambda sizes: sizes) > 100
