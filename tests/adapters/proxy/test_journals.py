"""Journals are made apart from the requests, and left out where there is no time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.adapters.proxy.test_chat import ASKED, saying
from tests.servers.chat_server import serving
from tests.servers.proxy_server import proxying
from toolreel._journal import read_journal
from toolreel.proxy import JournalJob, JournalQueue, ProxySettings, Route
from toolreel_core._jsontext import Json
from toolreel_core._proxy import Profile

MANY = 50


def jobs(folder: Path, count: int) -> list[JournalJob]:
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
        made.append(JournalJob(path.stem, path, Profile.of(), {}))
    return made


def journals(folder: Path) -> list[Path]:
    return [*folder.glob("*.journal.jsonl")]


def test_many_are_made_in_their_order(tmp_path: Path) -> None:
    told: list[Mapping[str, Json]] = []
    queue = JournalQueue(told.append)
    for job in jobs(tmp_path, MANY):
        queue.add(job)
    queue.close()
    assert len(journals(tmp_path)) == MANY
    assert read_journal(tmp_path / "c0.journal.jsonl").plan.model == "m"
    assert all(entry["is"] == "making journals" and entry["of"] == MANY for entry in told)


def test_who_cannot_wait_has_whole_cassettes_and_is_told_what_is_missing(tmp_path: Path) -> None:
    told: list[Mapping[str, Json]] = []
    queue = JournalQueue(told.append)
    made = jobs(tmp_path, MANY)
    queue.hurry()
    for job in made:
        queue.add(job)
    queue.close()
    assert journals(tmp_path) == []
    (entry,) = told
    assert (entry["is"], entry["conversations"]) == ("without a journal", MANY)
    assert not [*tmp_path.glob(".*")]


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
