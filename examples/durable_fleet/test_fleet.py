"""Two workers, six runs, and a kill -9 while the model is thinking."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Semaphore, Thread

import pytest

from orders import TOOLS
from toolreel import Plan
from toolreel.durable import DurableRuns
from toolreel.testing import calling, saying


@contextmanager
def serving(asked: Semaphore, go_on: Event) -> Generator[str]:
    """The URL of a model that orders what it is asked for, and takes its time until it may go on."""

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.release()
            go_on.wait(120)
            done = request["messages"][-1]["role"] == "tool"
            reply = saying("Ordered.") if done else calling(("order", {"part": "pin", "count": 4}))
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            go_on.set()
            server.shutdown()


def test_a_worker_that_is_killed_loses_no_run_and_orders_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLREEL_DATABASE_URL", f"sqlite:///{tmp_path}/runs.db")
    monkeypatch.setenv("ORDERS", f"{tmp_path}/orders.db")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    asked, go_on = Semaphore(0), Event()
    fleet = [sys.executable, str(Path(__file__).with_name("fleet.py")), "2", "--until-idle"]
    with serving(asked, go_on) as url, DurableRuns() as runs:
        plan = Plan.of(model="your-model", messages="Order 4 pins.", tools=TOOLS.surface)
        ids = [runs.submit(plan, run_id=f"shop-{number}") for number in range(6)]
        with subprocess.Popen(
            fleet, env={**os.environ, "TOOLREEL_BASE_URL": url}, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            # A worker performs four runs at once, so each has some of the six.
            assert all(asked.acquire(timeout=120) for _ in ids)
            os.kill(int(first.split()[-1]), signal.SIGKILL)
            go_on.set()
            output, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        assert "worker-1 died with -9" in output
        assert {runs.wait(run_id).run.text for run_id in ids} == {"Ordered."}
    with closing(sqlite3.connect(tmp_path / "orders.db")) as database:
        assert database.execute("SELECT count(*), sum(count) FROM orders").fetchone() == (6, 24)
