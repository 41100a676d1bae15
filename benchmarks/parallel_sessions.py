"""Many sessions recorded at once from one process, each into its own cassette, then replayed at once.

    python -m benchmarks.parallel_sessions --sessions 100

Each session asks a real server on this machine a few questions and keeps the answers. A cassette that lacks
one of its session's exchanges has lost it; one that has an exchange of another session is mixed. The same
experiment with stock vcrpy, whose ``use_cassette`` patches the HTTP library for the whole process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import vcr
from vcr.cassette import Cassette
from vcr.record_mode import RecordMode

from toolreel.cassette import Mode, Session, use_cassette

QUESTIONS = 3
_TLS = ssl.create_default_context()
"""Shared, since making one takes longer than a session."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is in the cassettes of all sessions, and what their replay gave."""

    lost: int
    """Exchanges that are missing in their session's cassette."""
    mixed: int
    """Exchanges that are in another session's cassette."""
    failed: int
    """Sessions that raised, or got another answer than their own, while being recorded or replayed."""
    seconds: float


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(0.002)  # a model takes its time, and sessions meet
        body = json.dumps({"answer": asked["question"]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # a client of a session that went wrong has hung up
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


@contextmanager
def echoing() -> Generator[str]:
    """A server that answers each question with itself."""
    with _Server(("127.0.0.1", 0), _Echo) as http:
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}/v1/chat/completions"
        finally:
            http.shutdown()
            thread.join()


def questions(session: int) -> list[str]:
    """What a session asks."""
    return [f"session {session}, question {n}" for n in range(QUESTIONS)]


def toolreel_session(path: Path, mode: Mode, url: str, session: int) -> bool:
    """One session in a thread, with toolreel; whether it got its own answers."""
    with use_cassette(path, mode) as tape:
        transport = tape.transport(httpx.HTTPTransport(verify=_TLS))
        with httpx.Client(transport=transport) as client:
            return _answers(client, url, session) == questions(session)


async def toolreel_task(path: Path, mode: Mode, url: str, session: int) -> bool:
    """The same in a task."""
    with use_cassette(path, mode) as tape:
        transport = tape.async_transport(httpx.AsyncHTTPTransport(verify=_TLS))
        async with httpx.AsyncClient(transport=transport) as client:
            return await _aanswers(client, url, session) == questions(session)


def stock_session(path: Path, mode: Mode, url: str, session: int) -> bool:
    """The same in a thread, with stock vcrpy, which matches on the body as well."""
    with _stock(mode).use_cassette(str(path)), httpx.Client(verify=_TLS) as client:
        return _answers(client, url, session) == questions(session)


async def stock_task(path: Path, mode: Mode, url: str, session: int) -> bool:
    """The same in a task."""
    with _stock(mode).use_cassette(str(path)):
        async with httpx.AsyncClient(verify=_TLS) as client:
            return await _aanswers(client, url, session) == questions(session)


def _stock(mode: Mode) -> Any:  # noqa: ANN401 - vcrpy has no types
    record_mode = RecordMode.NONE if mode == "replay" else RecordMode.ONCE
    return vcr.VCR(record_mode=record_mode, match_on=["method", "uri", "body"])


def _answers(client: httpx.Client, url: str, session: int) -> list[str]:
    return [client.post(url, json={"question": asked}).json()["answer"] for asked in questions(session)]


async def _aanswers(client: httpx.AsyncClient, url: str, session: int) -> list[str]:
    replies = [await client.post(url, json={"question": asked}) for asked in questions(session)]
    return [reply.json()["answer"] for reply in replies]


def toolreel_kept(path: Path) -> list[str]:
    """The questions in a cassette of toolreel."""
    return [json.loads(one.body)["question"] for one in Session(path).exchanges]


def stock_kept(path: Path) -> list[str]:
    """The questions in a cassette of stock vcrpy."""
    cassette: Any = Cassette.load(path=str(path), record_mode=RecordMode.NONE)
    return [json.loads(request.body)["question"] for request in cassette.requests]


Held = Callable[[Path, Mode, str, int], "list[bool]"]
"""Holds sessions at once, with their cassettes in a folder; whether each got its own answers."""


def in_threads(hold: Callable[[Path, Mode, str, int], bool]) -> Held:
    """All sessions at once, in as many threads."""

    def held(folder: Path, mode: Mode, url: str, sessions: int) -> list[bool]:
        def one(session: int) -> bool:
            try:
                return hold(folder / f"{session}.yaml", mode, url, session)
            except Exception:  # noqa: BLE001 - whatever a session fails with counts
                return False

        with ThreadPoolExecutor(sessions) as pool:
            return [*pool.map(one, range(sessions))]

    return held


def in_tasks(hold: Callable[[Path, Mode, str, int], Awaitable[bool]]) -> Held:
    """All sessions at once, in tasks of one event loop."""

    def held(folder: Path, mode: Mode, url: str, sessions: int) -> list[bool]:
        async def together() -> list[bool | BaseException]:
            each = (hold(folder / f"{session}.yaml", mode, url, session) for session in range(sessions))
            return await asyncio.gather(*each, return_exceptions=True)

        return [one is True for one in asyncio.run(together())]

    return held


WAYS: dict[str, tuple[Held, Callable[[Path], list[str]]]] = {
    "toolreel, threads": (in_threads(toolreel_session), toolreel_kept),
    "toolreel, tasks": (in_tasks(toolreel_task), toolreel_kept),
    "vcrpy, threads": (in_threads(stock_session), stock_kept),
    "vcrpy, tasks": (in_tasks(stock_task), stock_kept),
}


def measured(way: str, sessions: int) -> Found:
    """Record sessions at once, look into their cassettes, and replay them at once without the server."""
    held, kept = WAYS[way]
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.perf_counter()
        with echoing() as url:
            recorded = held(folder, "record", url, sessions)
        replayed = held(folder, "replay", url, sessions)
        seconds = time.perf_counter() - began
        lost = mixed = 0
        for session in range(sessions):
            path, own = folder / f"{session}.yaml", set(questions(session))
            there = kept(path) if path.exists() else []
            lost += len(own - set(there))
            mixed += sum(question not in own for question in there)
    failed = sum(not (was and now) for was, now in zip(recorded, replayed, strict=True))
    return Found(lost, mixed, failed, seconds)


def main() -> None:
    """Print a table of all ways."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=100)
    sessions = parser.parse_args().sessions
    print(f"{sessions} sessions of {QUESTIONS} exchanges, recorded at once and replayed at once\n")
    print(f"{'':20} {'lost':>6} {'mixed':>6} {'failed':>7} {'seconds':>8}")
    for way in WAYS:
        found = measured(way, sessions)
        print(f"{way:20} {found.lost:6} {found.mixed:6} {found.failed:7} {found.seconds:8.1f}")


if __name__ == "__main__":
    main()
