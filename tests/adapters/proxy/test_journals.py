"""Journals are made apart from the requests: by other processes, and left out where there is no time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.adapters.proxy.test_chat import ASKED, saying
from tests.patience import eventually
from tests.servers.chat_server import serving
from tests.servers.proxy_server import proxying
from toolreel._journal import read_journal
from toolreel.proxy import JournalJob, JournalProcess, JournalQueue, ProxySettings, Route
from toolreel_core import Tree
from toolreel_core._jsontext import Json
from toolreel_core._plan import Preset
from toolreel_core._proxy import Profile
from toolreel_core.transforms import register_transform

MANY = 50


@register_transform("message", "known_to_this_test_only", about="Changes nothing.")
def unchanged(message: Tree) -> Tree:
    return message


def jobs(folder: Path, count: int, profile: Profile | None = None) -> list[JournalJob]:
    """Conversations that have a cassette and no journal."""
    with (
        serving(saying("Four.")) as server,
        proxying(ProxySettings((Route(server.url),), folder=folder)) as proxy,
    ):
        httpx.post(f"{proxy.url}/chat/completions", json={"model": "m", "messages": ASKED})
    (cassette,) = folder.glob("*.yaml")
    for journal in folder.glob("*.journal.jsonl"):
        journal.unlink()
    made: list[JournalJob] = []
    for number in range(count):
        path = folder / f"c{number}.yaml"
        path.write_bytes(cassette.read_bytes())
        made.append(JournalJob.of(path.stem, path, profile or Profile.of(), {}))
    return made


def journals(folder: Path) -> list[Path]:
    return [*folder.glob("*.journal.jsonl")]


def test_while_requests_are_served_another_process_makes_journals(tmp_path: Path) -> None:
    told: list[Mapping[str, Json]] = []
    queue, (first, *others) = JournalQueue(told.append), jobs(tmp_path, MANY)
    queue.add(first)
    eventually(lambda: journals(tmp_path), "the process has made one")
    own, began = time.process_time(), time.perf_counter()
    for job in others:
        queue.add(job)
    eventually(lambda: len(journals(tmp_path)) == MANY, "the process has made all")
    # To send jobs and to look for files is all that this process does meanwhile.
    assert time.process_time() - own < (time.perf_counter() - began) * 0.8
    queue.close()
    assert told == []
    assert read_journal(tmp_path / "c0.journal.jsonl").plan.model == "m"


def test_many_at_the_end_are_made_by_processes(tmp_path: Path) -> None:
    told: list[Mapping[str, Json]] = []
    queue = JournalQueue(told.append)
    queue.begin_close()
    for job in jobs(tmp_path, MANY):
        queue.add(job)
    queue.close()
    assert len(journals(tmp_path)) == MANY
    assert all(entry["is"] == "making journals" and entry["of"] == MANY for entry in told)


def test_who_cannot_wait_has_whole_cassettes_and_is_told_what_is_missing(tmp_path: Path) -> None:
    told: list[Mapping[str, Json]] = []
    queue = JournalQueue(told.append)
    queue.begin_close()
    for job in jobs(tmp_path, MANY):
        queue.add(job)
    queue.hurry()
    queue.close()
    assert journals(tmp_path) == []
    (entry,) = told
    assert (entry["is"], entry["conversations"]) == ("without a journal", MANY)
    assert not [*tmp_path.glob(".*")]


def test_what_only_this_process_has_registered_is_made_here(tmp_path: Path) -> None:
    own = Profile.of(Preset.of("own", {"config": {"message_transforms": ["known_to_this_test_only"]}}))
    (job,) = jobs(tmp_path, 1, own)
    with JournalProcess() as process:
        assert process.perform(job) is None
    told: list[Mapping[str, Json]] = []
    queue = JournalQueue(told.append)
    queue.add(job)
    queue.close()
    assert len(journals(tmp_path)) == 1
    assert told == []


def test_a_process_that_is_killed_is_followed_by_another(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, 1)
    with JournalProcess() as process:
        assert process.perform(job) == ""
        process.kill()
        assert process.perform(job) is None
        assert process.perform(job) == ""


def test_what_stands_in_the_way_is_told(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, 1)
    job.path.write_text("no cassette")
    told: list[Mapping[str, Json]] = []
    queue = JournalQueue(told.append)
    queue.add(job)
    queue.close()
    assert [(entry["conversation"], entry["is"]) for entry in told] == [("c0", "without a journal")]


def test_a_journal_with_a_secret_is_not_written(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, 1)
    text = job.path.read_text()
    assert "Four." in text
    os.environ["SOME_API_KEY"] = "How many pins?"
    try:
        assert "secret" in job.perform()
    finally:
        del os.environ["SOME_API_KEY"]
    assert journals(tmp_path) == []
