"""What a durable run costs: CPU a step and runs a second, embedded, on SQLite and on PostgreSQL.

``python -m benchmarks.durable [--runs N] [--parts N] [--queued N] [URL...]`` measures the shop of the tests
(a model and a tool that answer at once): embedded, on SQLite in a new file, and on each URL of PostgreSQL;
beside them, DBOS alone with as many empty steps. ``--queued`` puts so many runs into the queue first, to see
what a long queue costs.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.adapters.durable.shop import Shop, plan_of
from toolreel import run
from toolreel.durable import DurableRuns, Worker
from toolreel.durable._store.database import database_url
from toolreel.durable._tasks import Tasks, TaskWorker


def measured(what: str, runs: int, steps: int, work: Callable[[], object]) -> None:
    """Do the work, and print what it took of this process."""
    before, began = _cpu_seconds(), time.monotonic()
    work()
    cpu, seconds = _cpu_seconds() - before, time.monotonic() - began
    print(f"{what:<34} {1000 * cpu / (runs * steps):7.2f} ms CPU a step {runs / seconds:8.1f} runs/s")


def embedded(shop: Shop, runs: int, parts: int) -> None:
    """The same runs with nothing stored."""
    for number in range(runs):
        run(plan_of(f"r{number}", parts, shop.tools.surface), shop.ports)


def durable(shop: Shop, url: str, runs: int, parts: int, queued: int, name: str) -> None:
    """Runs in a queue, performed by one worker of this process."""
    with DurableRuns(url) as store:
        for number in range(queued):
            store.submit(plan_of("later", parts, shop.tools.surface), f"{name}-later-{number}", queue="later")
        for number in range(runs):
            store.submit(plan_of(f"r{number}", parts, shop.tools.surface), f"{name}-{number}")

        def perform() -> None:
            with Worker(shop.ports, url, concurrency=8, poll_seconds=0.02) as worker:
                while worker.has_work():
                    time.sleep(0.02)

        measured(f"{name}, {queued} queued besides", runs, 2 * parts + 1, perform)


def empty_steps(url: str, tasks: int, name: str) -> None:
    """DBOS alone: as many workflows of one empty step."""
    store = Tasks(database_url(url), f"empty {name}")
    for number in range(tasks):
        store.put(str(number), "")

    def perform() -> None:
        worker = TaskWorker(database_url(url), f"empty {name}", lambda about: about, 8, 0.02)
        for _ in store.done(0.02):
            pass
        worker.close()

    measured(f"{name}, DBOS alone, 1 empty step", tasks, 1, perform)
    store.close()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--parts", type=int, default=3, help="calls of each run")
    parser.add_argument("--queued", type=int, default=0)
    parser.add_argument("urls", nargs="*", metavar="URL")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(Path(folder, "log"))
        steps = 2 * given.parts + 1
        measured("embedded", given.runs, steps, lambda: embedded(shop, given.runs, given.parts))
        for number, url in enumerate([f"sqlite:///{folder}/runs.db", *given.urls]):
            name = "SQLite" if number == 0 else f"PostgreSQL {number}"
            durable(shop, url, given.runs, given.parts, given.queued, name)
            empty_steps(url, given.runs, name)


if __name__ == "__main__":
    main()
