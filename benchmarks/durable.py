"""What a durable run costs: CPU a step and runs a second, embedded, on SQLite and on PostgreSQL.

``python -m benchmarks.durable [--runs N] [--parts N] [--queued N] [--peer PYTHON]`` measures the shop of the
tests (a model and a tool that answer at once): embedded; on SQLite in a new file and on a PostgreSQL of its
own, with one worker process and with two. ``--peer`` names
an interpreter that has ``pydantic-ai-slim[dbos]`` and psycopg, and measures its wrapper with the same run.
``--queued`` puts this many runs behind those that are measured, to see what a long queue costs.
CPU is that of the workers, with their start; that of a PostgreSQL server is printed separately.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.adapters.durable.shop import Shop, plan_of
from tests.servers.postgres import found, serving_postgres
from toolreel import run
from toolreel.durable import DurableRuns, Worker, database_url, open_database

_POLL = 0.02
_TOGETHER = 8
_PEER = Path(__file__).with_name("durable_peers") / "pydantic_ai_dbos.py"
_PROCESSES = get_context("spawn")


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    runs: int
    parts: int
    queued: int

    @property
    def steps(self) -> int:
        """The effects of a run: a request before each call and after the last."""
        return 2 * self.parts + 1

    def show(self, what: str, cpu: float, seconds: float, server: float = 0.0) -> None:
        """Print a row."""
        each = 1000 / (self.runs * self.steps)
        beside = f" + {each * server:5.2f} of the server" if server else ""
        rate = self.runs / seconds
        print(f"{what:<32} {each * cpu:6.2f} ms CPU a step {rate:7.1f} runs/s{beside}", flush=True)


@dataclass(frozen=True, slots=True)
class Place:
    """A database to measure on."""

    name: str
    new: Callable[[], str]
    """Makes one, and returns its URL."""
    server_cpu: Callable[[], float]


def embedded(size: Size, shop: Shop) -> None:
    """The same runs with nothing stored."""
    before, began = _cpu_seconds(), time.monotonic()
    for number in range(size.runs):
        run(plan_of(f"r{number}", size.parts, shop.tools.surface), shop.ports)
    size.show("embedded", _cpu_seconds() - before, time.monotonic() - began)


def durable(size: Size, place: Place, shop: Shop, log: Path, workers: int) -> None:
    """Runs in a queue, performed by this many processes."""
    url = place.new()
    with DurableRuns(url) as store:
        for number in range(size.runs):
            store.submit(plan_of(f"r{number}", size.parts, shop.tools.surface), f"r{number}")
        _fill(url, size.queued)
        with _processes(workers, _work, url, log) as connections:
            before, began = place.server_cpu(), time.monotonic()
            for connection in connections:
                connection.send("go")
            _wait(url, size.runs)
            seconds, server = time.monotonic() - began, place.server_cpu() - before
            for connection in connections:
                connection.send("stop")
            cpu = sum(float(connection.recv()) for connection in connections)
    behind = f", {size.queued} queued" if size.queued else ""
    size.show(f"{place.name}, {workers} worker{'s' * (workers > 1)}{behind}", cpu, seconds, server)


def _work(parent: Connection, url: str, log: Path) -> None:
    """A worker in a process of its own."""
    parent.send("ready")
    parent.recv()
    before = _cpu_seconds()
    with Worker(Shop(log).ports, url, concurrency=_TOGETHER, poll_seconds=_POLL):
        parent.recv()
    parent.send(_cpu_seconds() - before)


def peer(size: Size, place: Place, python: str) -> None:
    """pydantic-ai's wrapper with the same run; its runs do not go through a queue."""
    command = [python, str(_PEER), place.new(), str(size.runs), str(size.parts)]
    before = place.server_cpu()
    took = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)  # noqa: S603 - one's own
    server = (place.server_cpu() - before) / 2  # it makes the runs twice, and measures the second time
    size.show(f"{place.name}, pydantic-ai on DBOS", took["cpu"], took["seconds"], server)


def _wait(url: str, ended: int) -> None:
    """Wait until this many runs have ended."""
    engine = open_database(database_url(url))
    query = sa.text("SELECT count(*) FROM toolreel_runs WHERE status = 'ended'")
    while True:
        with engine.connect() as connection:
            if connection.execute(query).scalar_one() >= ended:
                break
        time.sleep(_POLL)
    engine.dispose()


def _fill(url: str, count: int) -> None:
    """Copy the rows of the first run this many times, in the same queue behind all others."""
    if not count:
        return
    engine = open_database(database_url(url))
    schema = None if engine.dialect.name == "sqlite" else "dbos"
    tables = sa.MetaData()
    workflows = sa.Table("workflow_status", tables, schema=schema, autoload_with=engine)
    runs = sa.Table("toolreel_runs", tables, autoload_with=engine)
    with engine.begin() as connection:
        for table, key, pattern in ((runs, "run_id", "later-{}"), (workflows, "workflow_uuid", "later-{}~1")):
            own = "r0" if table is runs else "r0~1"
            row = connection.execute(sa.select(table).where(table.c[key] == own)).mappings().one()
            for start in range(0, count, 10_000):
                rows: list[dict[str, Any]] = [
                    {**row, key: pattern.format(number), "created_at": row["created_at"] + 10**9}
                    for number in range(start, min(count, start + 10_000))
                ]
                connection.execute(sa.insert(table), rows)
        connection.execute(sa.text("ANALYZE"))
    engine.dispose()


@contextmanager
def _processes(count: int, work: Callable[..., None], *arguments: object) -> Generator[list[Connection]]:
    """This number of processes, ready to begin."""
    ends = [_PROCESSES.Pipe() for _ in range(count)]
    started = [_PROCESSES.Process(target=work, args=(theirs, *arguments)) for _, theirs in ends]
    for process in started:
        process.start()
    for ours, _ in ends:
        ours.recv()
    yield [ours for ours, _ in ends]
    for process in started:
        process.join()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _written_messages(folder: Path) -> Iterator[Place]:
    names = iter(range(1000))
    yield Place("SQLite", lambda: f"sqlite:///{folder}/{next(names)}.db", lambda: 0.0)
    if (programs := found()) is not None:
        with serving_postgres(programs) as server:
            yield Place("PostgreSQL", server.create, server.cpu_seconds)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--parts", type=int, default=3, help="calls of each run")
    parser.add_argument("--queued", type=int, default=0)
    parser.add_argument("--peer", metavar="PYTHON")
    given = parser.parse_args()
    size = Size(given.runs, given.parts, given.queued)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        shop = Shop(log)
        embedded(size, shop)
        for place in _written_messages(Path(folder)):
            for workers in (1, 2):
                durable(size, place, shop, log, workers)
            if given.peer and not size.queued:
                peer(size, place, given.peer)


if __name__ == "__main__":
    main()
