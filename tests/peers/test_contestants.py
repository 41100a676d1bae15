"""Ours and the loops by hand, each in a process of its own, against the server in another."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from benchmarks.peers.contestant import CONTESTANTS, HERE, Colour, Contestant
from benchmarks.peers.process import Process
from benchmarks.peers.server import Server, serving

OURS = {one.id: one for one in CONTESTANTS if one.peer is None}


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with serving() as started:
        yield started


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.shared.environment.CACHE", tmp_path)


@pytest.mark.parametrize(("name", "colour"), [("toolreel", "async"), ("floor_json", "sync")])
def test_runs_have_as_many_turns_as_they_were_told(name: str, colour: Colour, server: Server) -> None:
    before = server.spent()
    with Process(OURS[name], colour, server) as process:
        one = process.measure(4, limit=60)
        many = process.measure(4, limit=60, at_once=3)
    after = server.spent()
    assert (one.runs, one.turns, one.cut, one.failed) == (1, 4, 0, 0)
    assert (many.runs, many.turns, many.cut, many.failed) == (3, 12, 0, 0)
    assert process.imported.cpu > 0
    assert one.cpu > 0
    assert after.cpu > before.cpu
    assert after.requests - before.requests == 3 + 4 + 12  # with those of the run that is not measured


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda one: one.id)
def test_each_contestant_has_a_driver_and_an_environment(contestant: Contestant) -> None:
    assert (HERE / f"{contestant.module.replace('.', '/')}.py").is_file()
    wanted = contestant.environment.wanted
    assert wanted is None or wanted.is_file()
