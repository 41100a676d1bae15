"""What the proxy adds to a request: ``python -m benchmarks.proxy [--requests N] [--memory N]``.

The same client plays the same sessions five ways in one run, in turn: with the upstream directly, through a
bare pass-through on the same ASGI server (httpx, no repairs, nothing read), and through the proxy, which
passes, records or replays. Each server is a process of its own, so that its CPU time is its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path_

from toolreel._internal import listening_socket, server_config
from toolreel.proxy import MAX_CLIENTS, ProxySettings, Route, serve

__all__ = ["main"]

_REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at":1}'},
                        }
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
    }
).encode()
_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
_TURNS = 10


def _opening(session: int) -> list[Any]:
    return [
        {"role": "system", "content": "Be brief. " * 50},
        {"role": "user", "content": f"Look for {session}."},
    ]


async def _model(request: Request) -> Response:
    await request.body()
    return Response(_REPLY, media_type="application/json")


def _upstream() -> Starlette:
    return Starlette(routes=[Path_("/v1/chat/completions", _model, methods=["POST"])])


def _pass_through(url: str) -> Starlette:
    client = httpx.AsyncClient(timeout=60)

    async def passed(request: Request) -> Response:
        answer = await client.post(f"{url}/v1/chat/completions", content=await request.body())
        return Response(answer.content, answer.status_code, media_type="application/json")

    return Starlette(routes=[Path_("/v1/chat/completions", passed, methods=["POST"])])


def _bare(app: Starlette, listened: Callable[[str], None]) -> None:
    with listening_socket("127.0.0.1", 0) as socket_:
        listened(f"http://127.0.0.1:{socket_.getsockname()[1]}")
        uvicorn.Server(server_config(app, connections=MAX_CLIENTS)).run(sockets=[socket_])


def _proxy(settings: ProxySettings, listened: Callable[[str], None]) -> None:
    serve(
        settings,
        "127.0.0.1",
        0,
        tell=lambda _: None,
        ready=lambda url: listened(url.removesuffix("/v1")),
    )


def _serve(name: str, url: str, folder: str, pipe: Connection) -> None:
    """Serve until SIGTERM, and answer each question of the pipe with CPU seconds and resident bytes."""

    def spent() -> None:
        while pipe.recv():
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            pipe.send((time.process_time(), pages * os.sysconf("SC_PAGE_SIZE")))

    Thread(target=spent, daemon=True).start()
    routes = (Route(url),) if url else ()
    match name:
        case "directly":
            _bare(_upstream(), pipe.send)
        case "pass-through":
            _bare(_pass_through(url), pipe.send)
        case "proxy":
            _proxy(ProxySettings(routes), pipe.send)
        case "proxy, recording":
            _proxy(ProxySettings(routes, folder=folder), pipe.send)
        case "proxy, replaying":
            _proxy(ProxySettings(routes, folder=folder, mode="replay"), pipe.send)
        case _:
            raise ValueError(f"no server is called {name!r}")


class _Server:
    def __init__(self, name: str, upstream: str, folder: str) -> None:
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.name = name
        self.times: list[float] = []
        self._pipe = ours
        self._process = context.Process(target=_serve, args=(name, upstream, folder, theirs), daemon=True)
        self._process.start()
        self.url: str = ours.recv()

    def spent(self) -> tuple[float, int]:
        """CPU seconds and resident bytes so far."""
        self._pipe.send(True)
        seconds, size = self._pipe.recv()
        return float(seconds), int(size)

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()


def _play(client: httpx.Client, server: _Server, session: int, count: int = _TURNS) -> None:
    """Play a session as a client that keeps its history."""
    messages = _opening(session)
    for _ in range(count):
        body = json.dumps({"model": "m", "messages": messages, "tools": [_TOOL]}).encode()
        begun = time.perf_counter()
        response = client.post(f"{server.url}/v1/chat/completions", content=body)
        server.times.append(1000 * (time.perf_counter() - begun))
        message = response.raise_for_status().json()["choices"][0]["message"]
        result = {"tool_call_id": message["tool_calls"][0]["id"], "content": "nothing here " * 20}
        messages += [message, {"role": "tool", **result}]


def _measure(client: httpx.Client, servers: Sequence[_Server], sessions: int) -> None:
    """Print a table: each server plays the sessions in turn, so that what else runs falls on all of them."""
    for server in servers:
        _play(client, server, 0)  # imports and connections
        server.times.clear()
    before = {server.name: server.spent()[0] for server in servers}
    for session in range(1, sessions + 1):
        for server in servers:
            _play(client, server, session)
    direct, passed = (statistics.median(server.times) for server in servers[:2])
    print(f"{sessions} sessions of {_TURNS} requests each, one at a time; milliseconds")
    print("| | median | more than directly | more than the pass-through | CPU a request |")
    print("|---|---:|---:|---:|---:|")
    for server in servers:
        median = statistics.median(server.times)
        cpu = 1000 * (server.spent()[0] - before[server.name]) / len(server.times)
        print(f"| {server.name} | {median:.2f} | {median - direct:.2f} | {median - passed:.2f} | {cpu:.2f} |")


def _grow(client: httpx.Client, server: _Server, requests: int) -> None:
    """Print what the server holds after each tenth of the requests."""
    sessions = -(-requests // _TURNS)
    print(f"{server.name}, of {requests} requests:", end=" ", flush=True)
    for session in range(sessions):
        _play(client, server, 1_000_000 + session)
        server.times.clear()
        if (session + 1) * 10 // sessions > session * 10 // sessions:
            size = server.spent()[1] / 2**20
            print(f"{(session + 1) * 100 // sessions} %: {size:.1f} MiB;", end=" ", flush=True)
    print()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=2_000, help="measured requests to each")
    parser.add_argument("--memory", type=int, default=0, help="further requests, whose memory is measured")
    given = parser.parse_args(arguments)
    sessions = max(1, given.requests // _TURNS)
    with TemporaryDirectory() as folder, httpx.Client(timeout=60, trust_env=False) as client:
        upstream = _Server("directly", "", "")
        recorder = _Server("proxy, recording", upstream.url, folder)
        for session in range(sessions + 1):
            _play(client, recorder, session)
        recorder.stop()
        servers = [upstream]
        for name in ("pass-through", "proxy", "proxy, recording", "proxy, replaying"):
            with_recordings = folder if name == "proxy, replaying" else f"{folder}/new"
            servers.append(_Server(name, upstream.url, with_recordings))
        _measure(client, servers, sessions)
        if given.memory:
            for server in servers[2:4]:
                _grow(client, server, given.memory)
        for server in reversed(servers):
            server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
