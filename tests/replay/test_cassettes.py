from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import cycle as endlessly
from itertools import groupby, islice
from pathlib import Path
from threading import Barrier

import anyio.lowlevel
import httpx
import pytest
import trio

from tests.patience import HANG
from tests.replay.sessions import (
    ADOPTED,
    CASSETTES,
    FOLDER,
    OURS,
    REMOTE,
    Held,
    aheld,
    cassette,
    held,
    held_on,
)
from tests.samples import printed_under
from toolreel._driver import Run
from toolreel._journal import journal_path
from toolreel._replay import DRIVERS, CallSummary, Driver, replay, story
from toolreel._secrets import leaks
from toolreel.demo import START, Workspace, workspace
from toolreel_core._protocol import (
    Completed,
    EmptyFinal,
    ModelNudged,
    Note,
    Outcome,
    RecoveryTried,
    ToolFailed,
)

AT_ONCE = 50

each_cassette = pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.parent.name)
each_driver = pytest.mark.parametrize("driver", DRIVERS)


def recorded(path: Path) -> bytes:
    return journal_path(path).read_bytes()


def calls(run: Run) -> list[CallSummary]:
    return [call for turn in story(run) for call in turn.calls]


# The same run, wherever it runs.


@each_driver
@each_cassette
def test_with_its_tools_run_for_real_a_session_writes_the_recorded_journal(
    path: Path, driver: Driver
) -> None:
    assert held_on(driver, path).journal == recorded(path)


@each_driver
@each_cassette
def test_a_session_replays_with_the_journal_or_the_tools_answering(path: Path, driver: Driver) -> None:
    by_journal = replay(path, driver=driver)
    by_tools = replay(path, driver=driver, tools=workspace)
    alone = replay(journal_path(path), driver=driver)
    assert by_journal.run == by_tools.run == alone.run
    assert by_journal.cassette == path
    assert alone.cassette is None


@each_driver
@pytest.mark.parametrize("path", REMOTE, ids=lambda path: path.parent.name)
def test_a_session_with_tools_of_servers_replays_with_no_server(path: Path, driver: Driver) -> None:
    replayed = replay(path, driver=driver)
    assert replayed.run == replay(journal_path(path), driver=driver).run
    (called,) = calls(replayed.run)
    assert called.name == "mcp_time_convert_time"
    assert replayed.run.outcome == Completed("2026-11-22 20:00:00")


def test_other_processes_with_other_hash_seeds_write_the_same_journals() -> None:
    program = "from tests.replay.sessions import journals_by_driver; print(journals_by_driver())"
    with ThreadPoolExecutor(3) as processes:
        told = [
            json.loads(text) for text in processes.map(partial(printed_under, program=program), (0, 1, 2))
        ]
    expected = {str(path): recorded(path).decode() for path in CASSETTES}
    assert told == [dict.fromkeys(DRIVERS, expected)] * 3


def test_fifty_replays_at_once_in_threads_do_not_disturb_each_other() -> None:
    start = Barrier(AT_ONCE)

    def wait_and_hold(path: Path) -> bytes:
        start.wait(HANG)
        return held(path).journal

    paths = [*islice(endlessly(CASSETTES), AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert [*threads.map(wait_and_hold, paths)] == [recorded(path) for path in paths]


async def _in_asyncio(tasks: Sequence[Callable[[], Awaitable[Held]]]) -> list[Held]:
    return await asyncio.gather(*(task() for task in tasks))


async def _in_trio(tasks: Sequence[Callable[[], Awaitable[Held]]]) -> list[Held]:
    results: dict[int, Held] = {}

    async def keep(index: int) -> None:
        results[index] = await tasks[index]()

    async with trio.open_nursery() as nursery:
        for index in range(len(tasks)):
            nursery.start_soon(keep, index)
    return [results[index] for index in range(len(tasks))]


@pytest.mark.parametrize("driver", ["asyncio", "trio"])
def test_fifty_replays_at_once_in_tasks_do_not_disturb_each_other(driver: Driver) -> None:
    order: list[int] = []
    paths = [*islice(endlessly(CASSETTES), AT_ONCE)]
    tasks = [partial(aheld, path, partial(Polite, n, order)) for n, path in enumerate(paths)]
    done = asyncio.run(_in_asyncio(tasks)) if driver == "asyncio" else trio.run(_in_trio, tasks)
    assert [one.journal for one in done] == [recorded(path) for path in paths]
    assert len([*groupby(order)]) > AT_ONCE, "the sessions ran one after the other"


class Polite(httpx.AsyncBaseTransport):
    """Lets every other session go first before it answers a request of its own."""

    def __init__(self, session: int, order: list[int], inner: httpx.AsyncBaseTransport) -> None:
        self._session = session
        self._order = order
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await anyio.lowlevel.checkpoint()
        self._order.append(self._session)
        return await self._inner.handle_async_request(request)


# What each session is about.


BOTH = [("state_get", True), ("state_patch", True)]
ABOUT: Mapping[str, tuple[list[tuple[str, bool]], Outcome, Note | None]] = {
    "workspace": (BOTH, Completed("Done"), None),
    "empty-final": (BOTH, EmptyFinal(), None),
    "recovered": (
        BOTH,
        Completed('The result is that the status of the release has been updated to "ready".'),
        RecoveryTried(3, False),
    ),
    "nudged": ([("state_patch", False)], ToolFailed(("state_patch",)), ModelNudged(2, "no_tool_calls", "")),
    "streamed": (
        [],
        Completed("A JSON Pointer is a string used to navigate through a JSON document."),
        None,
    ),
}
"""What each session calls, how it ends, and the note that it is recorded for."""


@pytest.mark.parametrize("name", ABOUT)
def test_each_session_is_still_what_it_was_recorded_for(name: str) -> None:
    run = held(cassette(name)).run
    called, outcome, note = ABOUT[name]
    assert ([(call.name, call.ok) for call in calls(run)], run.outcome) == (called, outcome)
    assert note is None or note in [
        replace(each, text="") if isinstance(each, ModelNudged) else each for each in run.notes
    ]


def test_tool_error_is_told_to_the_model_which_then_corrects_its_call() -> None:
    state = Workspace()
    run = held(cassette("tool-error"), [state.state_get, state.state_patch]).run
    wrong, right = calls(run)
    assert (wrong.name, wrong.ok) == ("state_patch", False)
    assert wrong.result.startswith("ARGUMENT_ERROR: version: expected 7, got 1.")
    assert (right.name, right.ok) == ("state_patch", True)
    assert json.loads(right.arguments)["version"] == 7
    assert isinstance(run.outcome, Completed)
    assert state.sections["release"]["status"] == "ready"


def test_false_claim_says_that_it_has_set_the_status_and_never_did() -> None:
    state = Workspace()
    run = held(cassette("false-claim"), [state.state_get, state.state_patch]).run
    assert isinstance(run.outcome, Completed)
    assert 'set to "ready"' in run.outcome.content
    assert [call.name for call in calls(run)] == ["state_get"]
    assert state.sections == START


# The files.


def test_every_file_is_a_cassette_or_its_journal_or_the_readme() -> None:
    files = {path.relative_to(FOLDER) for path in FOLDER.rglob("*") if path.is_file()}
    there = {path for path in files if path.parts[0] not in {"evals", "probes"}}
    pairs = {file.relative_to(FOLDER) for path in OURS for file in (path, journal_path(path))}
    adopted = {path.relative_to(FOLDER) for path in ADOPTED}
    assert there == pairs | adopted | {Path("README.md")}
    assert [path.parent.name for path in ADOPTED] == ["openai-sdk", "pydantic-ai"]


each_file = pytest.mark.parametrize(
    "path",
    [*OURS, *map(journal_path, OURS), *ADOPTED],
    ids=lambda path: f"{path.parent.name}{path.suffix}",
)


def test_the_readme_lists_the_scenarios_that_there_are() -> None:
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.parent.name for path in [*OURS, *ADOPTED])


@each_file
def test_no_recording_holds_a_secret_or_a_path_of_the_machine_it_was_made_on(path: Path) -> None:
    text = path.read_text()
    assert leaks(text, {}) == ()
    assert not re.search(r"/root/|/home/|/Users/|[A-Z]:\\\\", text)
