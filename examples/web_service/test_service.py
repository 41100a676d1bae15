"""The service in processes of its own, used over HTTP; the model is scripted."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from toolreel.testing import calling, streaming

HERE = Path(__file__).parent


class Model(BaseHTTPRequestHandler):
    """A model that orders when it is asked to, counts until nobody listens, and knows what it was asked."""

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        self.send_response(200)
        match messages[-1]:
            case {"role": "tool"}:
                self._send(streaming("It is ", "done."))
            case {"content": "Order four pins."}:
                reply = json.dumps(calling(("order", {"part": "pin", "count": 4})))
                self._send(reply, "application/json")
            case {"content": "Count."}:
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                while True:
                    self.wfile.write(streaming("more ", finish="").encode())
                    time.sleep(0.02)
            case _:
                self._send(streaming(f"I know {len(messages)} messages."))

    def _send(self, body: str, content_type: str = "text/event-stream") -> None:
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def handle(self) -> None:
        """Let the client leave."""
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def model() -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@contextmanager
def serving(model: str, folder: Path) -> Generator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """A process of the service with a client; it may leave nothing open, of which Python would warn."""
    environment = {"RUNS": f"{folder}/runs.db", "TOOLREEL_BASE_URL": model, "PYTHONDEVMODE": "1"}
    with socket.create_server(("127.0.0.1", 0)) as listening, (folder / "log").open("wb") as log:
        url, fd = "http://{}:{}".format(*listening.getsockname()), listening.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--fd", str(fd), "--log-level", "warning", "service:app"],
            cwd=HERE,
            env={**os.environ, "NO_PROXY": "*", **environment},
            pass_fds=[fd],
            stdout=log,
            stderr=log,
        )
    try:
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
            yield client, process
        process.send_signal(signal.SIGINT)
        process.wait(120)
    finally:
        process.kill()
        process.wait()
    assert (folder / "log").read_text() == ""


def begin(client: httpx.Client, prompt: str) -> str:
    run = client.post("/runs", json={"prompt": prompt}).raise_for_status().json()
    return f"/runs/{run}"


def events(client: httpx.Client, run: str) -> list[tuple[str, Any]]:
    """Follow a run until it ends or rests."""
    text = client.get(f"{run}/events").raise_for_status().text
    frames = [frame.splitlines() for frame in text.split("\n\n") if frame.startswith("event:")]
    return [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in frames]


def test_a_call_is_approved_in_another_process_and_the_conversation_goes_on(
    model: str, tmp_path: Path
) -> None:
    with serving(model, tmp_path) as (client, process):
        run = begin(client, "Order four pins.")
        asks = ['order({"part":"pin","count":4})']
        assert events(client, run) == [("end", {"status": "resting", "text": "", "asks": asks})]
        process.kill()
    with serving(model, tmp_path) as (client, _):
        assert client.post(f"{run}/approval", json={"approved": True}).status_code == 204
        assert client.post(f"{run}/approval", json={"approved": True}).status_code == 409
        assert events(client, run) == [
            ("result", {"tool": "order", "output": '"4 pin ordered"'}),
            ("text", "It is "),
            ("text", "done."),
            ("end", {"status": "completed", "text": "It is done.", "asks": []}),
        ]
        client.post(f"{run}/messages", json={"text": "What do you know?"}).raise_for_status()
        # The question, the call, its result, the answer, and the second question.
        answer = {"status": "completed", "text": "I know 5 messages.", "asks": []}
        assert events(client, run)[-1] == ("end", answer)
        assert client.get(run).json() == answer


def test_a_client_that_leaves_cancels_its_run(model: str, tmp_path: Path) -> None:
    with serving(model, tmp_path) as (client, _):
        run = begin(client, "Count.")
        with client.stream("GET", f"{run}/events") as response:
            lines = response.iter_lines()  # kept, since an iterator that is thrown away closes the connection
            assert 'data: "more "' in lines
            assert client.get(run).json()["status"] == "resting"
            with client.stream("GET", f"{run}/events") as second:  # a run has one follower
                assert second.status_code == 409
        until = time.monotonic() + 120
        while client.get(run).json()["status"] != "cancelled":
            assert time.monotonic() < until
            time.sleep(0.05)


def test_an_approval_that_nobody_waits_for_and_an_unknown_run_are_errors(model: str, tmp_path: Path) -> None:
    with serving(model, tmp_path) as (client, _):
        run = begin(client, "Hello.")
        assert client.post(f"{run}/approval", json={"approved": True}).status_code == 409
        assert client.get("/runs/none").status_code == 404
        assert client.get("/runs/none/events").status_code == 409


def test_a_run_whose_process_was_killed_goes_on_when_somebody_releases_it(model: str, tmp_path: Path) -> None:
    with serving(model, tmp_path) as (client, process):
        run = begin(client, "Count.")
        with client.stream("GET", f"{run}/events") as response:
            lines = response.iter_lines()
            assert 'data: "more "' in lines
            process.kill()
            process.wait()
    with serving(model, tmp_path) as (client, _):
        assert client.get(f"{run}/events").status_code == 409
        with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as database:
            database.execute("UPDATE runs SET claim = NULL")
        with client.stream("GET", f"{run}/events") as response:
            assert 'data: "more "' in response.iter_lines()
