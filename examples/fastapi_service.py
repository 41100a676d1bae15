"""A web service of runs, used over HTTP: ``python examples/fastapi_service.py``.

The service is ``web_service/service.py``, with FastAPI. Here, a client leaves in the middle of a stream; then
a run rests at a call that needs approval, its process is killed, and another process goes on with it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

HERE = Path(__file__).resolve().parent


@contextmanager
def serving(app: str, **environment: str) -> Generator[str]:
    """A server in a process of its own, killed at the end; its URL."""
    uvicorn = [sys.executable, "-m", "uvicorn", "--log-level", "warning", "--app-dir", str(HERE), app]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = "http://{}:{}".format(*listening.getsockname())
        process = subprocess.Popen(
            [*uvicorn, "--fd", str(listening.fileno())],
            pass_fds=[listening.fileno()],
            env={**os.environ, "NO_PROXY": "*", **environment},
        )
    try:
        yield url
    finally:
        process.kill()
        process.wait()


def leave_early(client: httpx.Client) -> None:
    """Leave at the first piece of text: the run is cancelled, and the store says so."""
    run = client.post("/runs", json={"prompt": "Count."}).json()
    with client.stream("GET", f"/runs/{run}/events") as response:
        print(next(line for line in response.iter_lines() if line.startswith("data:")))
    until = time.monotonic() + 60  # the server learns of it in its own time
    while (seen := client.get(f"/runs/{run}").json())["status"] == "resting" and time.monotonic() < until:
        time.sleep(0.05)
    print(seen)
    assert seen["status"] == "cancelled"


def until_approval(client: httpx.Client) -> str:
    """Follow a run until it rests at a call."""
    run: str = client.post("/runs", json={"prompt": "Please order four pins."}).json()
    print(client.get(f"/runs/{run}/events").text.strip())
    return run


def approve(client: httpx.Client, run: str) -> None:
    """Approve the call, and follow the run to its end."""
    client.post(f"/runs/{run}/approval", json={"approved": True}).raise_for_status()
    print(client.get(f"/runs/{run}/events").text.strip())
    assert client.get(f"/runs/{run}").json() == {"status": "completed", "text": "It is done.", "asks": []}


def main() -> None:
    """Use one process of the service, kill it, and use another on the same store."""
    with TemporaryDirectory() as folder, serving("web_service.scripted_model:app") as model:
        of_service = {"RUNS": f"{folder}/runs.db", "TOOLREEL_BASE_URL": f"{model}/v1"}
        with served(of_service) as client:
            leave_early(client)
            run = until_approval(client)
        with served(of_service) as client:
            approve(client, run)


@contextmanager
def served(environment: Mapping[str, str]) -> Generator[httpx.Client]:
    """A client of a new process of the service."""
    with (
        serving("web_service.service:app", **environment) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        yield client


if __name__ == "__main__":
    main()
