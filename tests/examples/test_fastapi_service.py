"""The service of examples/fastapi_service.py, as a server in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.docs.snippets import ROOT, blocks_of
from tests.patience import HANG, eventually
from tests.servers.chat_server import Answer, ChatServer, chunk, replying, serving, streaming
from toolreel.testing import calling

SERVICE = ROOT / "examples" / "web_service" / "service.py"
ENDLESS = streaming(chunk("One, "), *(chunk("two, "), 0.02) * 20_000)
ORDERS = replying(calling(("order", {"part": "pin", "count": 4})))
SAYS_DONE = streaming(chunk("It is "), chunk("done.", "stop"))


@dataclass(frozen=True)
class Service:
    """A process of the service, with a client."""

    client: httpx.Client
    process: subprocess.Popen[bytes]

    def begin(self) -> str:
        """The id of a new run."""
        run = self.client.post("/runs", json={"prompt": "Go."}).raise_for_status().json()
        assert isinstance(run, str)
        return run

    def look(self, run: str) -> Mapping[str, object]:
        """What the service says of a run."""
        seen = self.client.get(f"/runs/{run}").raise_for_status().json()
        assert isinstance(seen, dict)
        return seen

    def is_cancelled(self, run: str) -> bool:
        return self.look(run)["status"] == "cancelled"

    def is_free(self, run: str) -> bool:
        return self.client.get(f"/runs/{run}/events").is_success

    def events(self, run: str) -> list[tuple[str, object]]:
        """Follow a run to the end of its stream."""
        text = self.client.get(f"/runs/{run}/events").raise_for_status().text
        frames = [frame.splitlines() for frame in text.split("\n\n") if frame.startswith("event:")]
        return [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in frames]

    @contextmanager
    def begun(self, run: str) -> Generator[None]:
        """Inside, a client has read the first piece of the stream and is still there."""
        with self.client.stream("GET", f"/runs/{run}/events") as response:
            lines = response.iter_lines()  # dropping them hangs up
            assert 'data: "One, "' in lines
            yield

    def refused(self, run: str) -> int:
        """The status of the answer to a follower of a run; a stream is not read, since it may never end."""
        with self.client.stream("GET", f"/runs/{run}/events") as response:
            return response.status_code

    def decide(self, run: str, *, approved: bool) -> int:
        """The status of the answer to a decision."""
        return self.client.post(f"/runs/{run}/approval", json={"approved": approved}).status_code


@contextmanager
def service(model: ChatServer, folder: Path) -> Generator[Service]:
    """Start it in development mode, which warns of whatever is left open; it must have nothing to say."""
    said = folder / "said"
    environment = {
        **os.environ,
        "PYTHONDEVMODE": "1",
        "RUNS": str(folder / "runs.db"),
        "TOOLREEL_BASE_URL": f"{model.url}/v1",
    }
    with socket.create_server(("127.0.0.1", 0)) as listening, said.open("wb") as output:
        url, fd = "http://{}:{}".format(*listening.getsockname()), listening.fileno()
        command = [sys.executable, "-m", "uvicorn", "--fd", str(fd), "--log-level", "warning", "service:app"]
        process = subprocess.Popen(
            command, pass_fds=[fd], cwd=SERVICE.parent, env=environment, stdout=output, stderr=output
        )
    try:
        with httpx.Client(base_url=url, trust_env=False, timeout=HANG) as client:
            yield Service(client, process)
        process.send_signal(signal.SIGINT)
        process.wait(HANG)
    finally:
        process.kill()
        process.wait()
    assert said.read_text() == ""


def test_a_client_that_leaves_cancels_its_run_and_leaves_nothing_open(tmp_path: Path) -> None:
    with serving(ENDLESS, ENDLESS, ENDLESS, SAYS_DONE) as model, service(model, tmp_path) as one:
        runs = [one.begin() for _ in range(3)]
        for run in runs:
            with one.begun(run):
                assert one.look(run)["status"] == "resting"
                assert one.refused(run) == 409
            eventually(partial(one.is_cancelled, run), "the run is cancelled")
        eventually(lambda: model.closed == model.connections == 3, "its requests are closed")
        for run in runs:  # a browser reconnects; the run does not begin again
            eventually(partial(one.is_free, run), "the request that was left has let go of its run")
            assert one.events(run) == [("end", {"status": "cancelled", "text": "", "asks": []})]
        assert [name for name, _ in one.events(one.begin())] == ["text", "text", "end"]


def test_a_client_may_leave_while_the_model_is_silent(tmp_path: Path) -> None:
    with serving(Answer(delay=HANG), SAYS_DONE) as model, service(model, tmp_path) as one:
        run = one.begin()
        with one.client.stream("GET", f"/runs/{run}/events"):
            eventually(lambda: model.seen, "the model is asked")
        eventually(partial(one.is_cancelled, run), "the run is cancelled")
        assert one.events(one.begin())[-1][0] == "end"


@pytest.mark.parametrize("approved", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_call_is_decided_about_in_another_process(tmp_path: Path, approved: bool) -> None:
    with serving(ORDERS, SAYS_DONE) as model:
        with service(model, tmp_path) as one:
            run = one.begin()
            asks = ['order({"part":"pin","count":4})']
            assert one.events(run) == [("end", {"status": "resting", "text": "", "asks": asks})]
            one.process.kill()
        with service(model, tmp_path) as other:
            assert other.decide(run, approved=approved) == 204
            assert other.decide(run, approved=approved) == 409
            results = [("result", {"tool": "order", "output": '"4 pin ordered"'})] if approved else []
            texts = [("text", "It is "), ("text", "done.")]
            ended = {"status": "completed", "text": "It is done.", "asks": []}
            assert other.events(run) == [*results, *texts, ("end", ended)]
            assert other.look(run) == ended
        told = json.loads(model.seen[-1].body)["messages"][-1]
        assert told["role"] == "tool"
        assert ("4 pin ordered" in told["content"]) is approved


def test_a_run_whose_process_died_goes_on_only_when_somebody_says_so(tmp_path: Path) -> None:
    with serving(ENDLESS, SAYS_DONE) as model:
        with service(model, tmp_path) as one:
            run = one.begin()
            with one.begun(run):
                one.process.kill()
                one.process.wait()
        with service(model, tmp_path) as other:
            assert other.look(run)["status"] == "resting"
            assert other.refused(run) == 409
            with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as database:
                database.execute("UPDATE runs SET claim = NULL")
            assert [name for name, _ in other.events(run)] == ["text", "text", "end"]
            assert other.look(run)["status"] == "completed"


def test_what_is_not_there_or_does_not_wait_is_said(tmp_path: Path) -> None:
    with serving() as model, service(model, tmp_path) as one:
        run = one.begin()
        assert one.decide(run, approved=True) == 409
        assert one.client.get("/runs/none").status_code == 404
        assert one.refused("none") == 409


def test_the_page_shows_the_service_that_is_tested() -> None:
    shown = [
        block.code for block in blocks_of(ROOT / "docs" / "web-service.md") if block.file == "service.py"
    ]
    assert shown == [SERVICE.read_text("utf-8")]
