"""The queue of examples/job_queue on a real PostgreSQL: workers in threads, and a process that is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from examples.job_queue import worker
from tests.docs.snippets import ROOT, blocks_of
from tests.patience import HANG, eventually
from tests.servers.postgres import found, serving_postgres
from toolreel import Json, Ports
from toolreel.http import HttpEndpoint
from toolreel.testing import calling, saying

PROGRAM = ROOT / "examples" / "job_queue" / "worker.py"


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    programs = found()
    if programs is None:
        pytest.skip("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    with serving_postgres(programs) as server:
        url = server.create()
        monkeypatch.setenv("DATABASE", url)
        with worker.connected() as connection:
            connection.execute(worker.TABLES)
        yield url


@contextmanager
def model(answer: Callable[[str], Json]) -> Generator[str]:
    """A model's server that answers by the role of the last message."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(answer(request["messages"][-1]["role"])).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def buying(role: str) -> Json:
    """Order at first, then say so."""
    return saying("Ordered.") if role == "tool" else calling(("order", {"part": "pin", "count": 4}))


def work_to_the_end(url: str) -> int:
    """How many steps this worker has performed."""
    steps = 0
    with worker.connected() as connection, HttpEndpoint(url) as endpoint:
        while worker.work_once(connection, Ports(endpoint, worker.tools)):
            steps += 1
    return steps


def outcomes() -> list[tuple[int, str | None]]:
    with worker.connected() as connection:
        return connection.execute("SELECT step, outcome FROM jobs").fetchall()


def orders() -> int:
    with worker.connected() as connection:
        return len(connection.execute("SELECT key FROM orders").fetchall())


@pytest.mark.usefixtures("database")
def test_each_step_of_each_job_is_performed_by_one_of_the_workers() -> None:
    asked: list[str] = []

    def answer(role: str) -> Json:
        asked.append(role)
        return buying(role)

    with worker.connected() as connection:
        for _ in range(6):
            worker.submit(connection, "Order 4 pins.")
    with model(answer) as url, ThreadPoolExecutor(3) as pool:
        steps = [*pool.map(work_to_the_end, [url] * 3)]
        # A worker leaves when the others have all the jobs that are left, so one of them may go on alone.
        assert sum(steps) + work_to_the_end(url) == 18
    assert outcomes() == [(4, "completed")] * 6
    assert (asked.count("user"), asked.count("tool"), orders()) == (6, 6, 6)


def test_the_job_of_a_worker_that_is_killed_goes_to_another_one(database: str) -> None:
    asked, over = Event(), Event()

    def silent(role: str) -> Json:
        asked.set()
        over.wait(HANG)
        return buying(role)

    with worker.connected() as connection:
        worker.submit(connection, "Order 4 pins.")
    with model(silent) as url, model(buying) as other:
        environment = {**os.environ, "DATABASE": database, "TOOLREEL_BASE_URL": url, "NO_PROXY": "*"}
        process = subprocess.Popen([sys.executable, str(PROGRAM)], env=environment)
        try:
            eventually(asked.is_set, "the worker asks the model")
            assert work_to_the_end(other) == 0  # the job is taken
        finally:
            process.kill()
            process.wait()
            over.set()
        eventually(lambda: work_to_the_end(other) or outcomes() == [(4, "completed")], "it is free again")
    assert outcomes() == [(4, "completed")]
    assert orders() == 1


def test_the_page_shows_the_worker_that_is_tested() -> None:
    page = ROOT / "docs" / "runtimes.md"
    shown = [block.code for block in blocks_of(page) if block.file == "worker.py"]
    assert shown == [Path(PROGRAM).read_text("utf-8")]
