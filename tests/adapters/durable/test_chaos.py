"""Workers are killed and PostgreSQL restarts at random moments: runs end as if nothing had happened."""

from __future__ import annotations

import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from tests.adapters.durable.a_worker import work
from tests.adapters.durable.processes import FORKING
from tests.adapters.durable.shop import Did, Shop, plan_of, undisturbed
from tests.servers.postgres import Postgres
from toolreel.durable import DurableRuns, Worker
from toolreel.errors import DurableError

PARTS = 3
"""So each run has seven effects: four requests and three calls."""
SLOTS = ("worker-1", "worker-2")


class Workers:
    """Worker processes, one a slot."""

    def __init__(self, database: str, log: Path) -> None:
        self._database, self._log = database, log
        self._processes: dict[str, ForkServerProcess] = {}

    def start(self, slot: str) -> None:
        process = FORKING.Process(target=work, args=(self._database, self._log, slot), daemon=True)
        process.start()
        self._processes[slot] = process

    def kill(self, slot: str) -> None:
        process = self._processes.pop(slot)
        process.kill()
        process.join()


@contextmanager
def working(database: str, log: Path) -> Generator[Workers]:
    workers = Workers(database, log)
    try:
        for slot in SLOTS:
            workers.start(slot)
        yield workers
    finally:
        for slot in SLOTS:
            workers.kill(slot)


def disturbed(
    database: str, tmp_path: Path, runs_wanted: int, kills: int, restart: Callable[[], None] | None
) -> None:
    """Perform runs, and disturb them whenever some more effects were begun, at a random moment after."""
    chance, shop, began = random.Random(19), Shop(tmp_path / "log"), time.monotonic()
    plans = {f"r{number}": plan_of(f"r{number}", PARTS, shop.tools.surface) for number in range(runs_wanted)}
    with DurableRuns(database) as runs, working(database, tmp_path / "log") as workers:
        for name, plan in plans.items():
            runs.submit(plan, name)
        every = runs_wanted * (2 * PARTS + 1) // (kills + 1)
        for kill in range(1, kills + 1):
            while len(shop.did) < kill * every and runs.counts() != {"ended": runs_wanted}:
                time.sleep(0.02)
            time.sleep(chance.random() * 0.1)
            if restart is not None and kill % 2 == 0:
                restart()
            else:
                slot = chance.choice(SLOTS)
                workers.kill(slot)
                workers.start(slot)
        for name in plans:
            assert runs.wait(name, 900).summary.status == "ended", runs.summary(name)
        digests = {name: runs.get(name).digest for name in plans}
    for name, plan in plans.items():
        assert digests[name] == undisturbed(plan, Shop(tmp_path / "quiet"))
    check(shop.did, plans.keys())
    restarts = kills // 2 if restart else 0
    repeated = len(shop.did) - runs_wanted * (2 * PARTS + 1)
    sys.stdout.write(
        f"{runs_wanted} runs ended in {time.monotonic() - began:.0f} s; {kills - restarts} kills of workers, "
        f"{restarts} restarts of the database; {repeated} effects were in flight and begun again\n"
    )


def check(did: list[Did], names: Iterable[str]) -> None:
    """No effect is begun again once a later one was, and a call that is repeated has the same key."""
    began: dict[str, list[int]] = defaultdict(list)
    keys: dict[tuple[str, int], set[str]] = defaultdict(set)
    for one in did:
        began[one.run].append(one.step)
        keys[one.run, one.step].add(one.key)
    assert {*began} == {*names}
    for steps in began.values():
        assert steps == sorted(steps), "a checkpointed effect was repeated"
        assert {*steps} == {*range(2 * PARTS + 1)}
    assert all(len(each) == 1 for each in keys.values())
    of_calls = [next(iter(each)) for each in keys.values() if each != {"-"}]
    assert len(of_calls) == len({*of_calls})


def test_a_few_runs_survive_a_killed_worker_and_a_restart(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    is_sqlite = database.startswith("sqlite")
    restart = None if is_sqlite else request.getfixturevalue("postgres").restart_at_once
    disturbed(database, tmp_path, 6, 1 if is_sqlite else 2, restart)


@pytest.mark.slow
@pytest.mark.parametrize("on", ["sqlite", "postgresql"])
def test_hundreds_of_runs_survive_killed_workers_and_restarts(
    on: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    wanted = int(os.environ.get("TOOLREEL_CHAOS_RUNS", "300"))
    if on == "sqlite":
        disturbed(f"sqlite:///{tmp_path / 'runs.db'}", tmp_path, wanted, wanted // 10, None)
        return
    server: Postgres = request.getfixturevalue("postgres")
    disturbed(server.create("tests_1"), tmp_path, wanted, wanted // 10, server.restart_at_once)


def test_a_worker_that_does_not_come_back_is_replaced(database: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "log")
    workers = Workers(database, tmp_path / "log")
    with DurableRuns(database) as runs:
        for name in ("r1", "r2", "r3"):
            runs.submit(plan_of(name, PARTS, shop.tools.surface), name)
        workers.start("worker-1")
        while len(shop.did) < 4:
            time.sleep(0.02)
        with pytest.raises(DurableError, match="alive"):
            runs.adopt("worker-1")
        workers.kill("worker-1")
        left = runs.counts().get("running", 0)
        with Worker(shop.ports, database, slot="other", poll_seconds=0.05):
            assert len(runs.adopt("worker-1")) >= left
            assert runs.adopt("worker-1") == []
            for name in ("r1", "r2", "r3"):
                assert runs.wait(name, 900).summary.status == "ended", runs.summary(name)
                quiet = undisturbed(plan_of(name, PARTS, shop.tools.surface), Shop(tmp_path / "quiet"))
                assert runs.get(name).digest == quiet
    check(shop.did, {"r1", "r2", "r3"})
