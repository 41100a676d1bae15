"""What the proxy adds to a request: ``python -m benchmarks.proxy [--requests N] [--memory N]``.

The same client asks the same upstream three ways in one run, in turn: directly, through a bare pass-through
on the same ASGI server (httpx, no repairs, nothing read), and through the proxy. Each server is a process of
its own, so that its CPU time is its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path_

from toolreel.proxy import ProxySettings, Route, proxy_app

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
_history: list[Any] = [{"role": "system", "content": "Be brief. " * 50}, {"role": "user", "content": "Look."}]
for _turn in range(6):
    _call = {"id": f"call_{_turn}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    _history += [
        {"role": "assistant", "content": None, "tool_calls": [_call]},
        {"role": "tool", "tool_call_id": f"call_{_turn}", "content": "nothing here " * 20},
    ]
_BODY = {"model": "m", "messages": _history, "tools": [_TOOL]}


async def _model(request: Request) -> Response:
    await request.body()
    return Response(_REPLY, media_type="application/json")


def _upstream(_url: str) -> Starlette:
    return Starlette(routes=[Path_("/v1/chat/completions", _model, methods=["POST"])])


def _pass_through(url: str) -> Starlette:
    client = httpx.AsyncClient(timeout=60)

    async def passed(request: Request) -> Response:
        answer = await client.post(f"{url}/v1/chat/completions", content=await request.body())
        return Response(answer.content, answer.status_code, media_type="application/json")

    return Starlette(routes=[Path_("/v1/chat/completions", passed, methods=["POST"])])


def _proxy(url: str) -> Starlette:
    return proxy_app(ProxySettings((Route(url),)))


_APPS = {"directly": _upstream, "pass-through": _pass_through, "proxy": _proxy}


def _serve(name: str, url: str, pipe: Connection) -> None:
    """Serve an application, and answer each question of the pipe with CPU seconds and resident bytes."""
    import socket  # noqa: PLC0415 - only in this process
    import threading  # noqa: PLC0415 - as above

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(_APPS[name](url), log_level="error", ws="none", timeout_keep_alive=600)
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    pipe.send(f"http://127.0.0.1:{listening.getsockname()[1]}")
    while pipe.recv():
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        pipe.send((time.process_time(), pages * os.sysconf("SC_PAGE_SIZE")))


class _Server:
    def __init__(self, name: str, upstream: str) -> None:
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.name = name
        self._pipe = ours
        self._process = context.Process(target=_serve, args=(name, upstream, theirs), daemon=True)
        self._process.start()
        self.url: str = ours.recv()

    def spent(self) -> tuple[float, int]:
        """CPU seconds and resident bytes so far."""
        self._pipe.send(True)
        seconds, size = self._pipe.recv()
        return float(seconds), int(size)

    def stop(self) -> None:
        self._pipe.send(False)
        self._process.terminate()
        self._process.join()


def _ask(client: httpx.Client, server: _Server, count: int) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        begun = time.perf_counter()
        client.post(f"{server.url}/v1/chat/completions", json=_BODY).raise_for_status()
        times.append(1000 * (time.perf_counter() - begun))
    return times


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=2_000, help="measured requests to each")
    parser.add_argument("--memory", type=int, default=0, help="further requests, whose memory is measured")
    given = parser.parse_args(arguments)
    upstream = _Server("directly", "")
    servers = [upstream, *(_Server(name, upstream.url) for name in ("pass-through", "proxy"))]
    times: dict[str, list[float]] = {server.name: [] for server in servers}
    with httpx.Client(timeout=60, trust_env=False) as client:
        for server in servers:
            _ask(client, server, 50)  # imports and connections
        before = {server.name: server.spent()[0] for server in servers}
        for _ in range(given.requests // 50):
            for server in servers:  # in turn, so that what else runs on the machine falls on all of them
                times[server.name] += _ask(client, server, 50)
        asked = len(times["directly"])
        direct = statistics.median(times["directly"])
        print(f"{asked} requests each, of {len(json.dumps(_BODY))} bytes, {len(_history)} messages")
        print("| | median ms | added ms | CPU ms a request |")
        print("|---|---:|---:|---:|")
        for server in servers:
            median = statistics.median(times[server.name])
            cpu = 1000 * (server.spent()[0] - before[server.name]) / asked
            shown = f"{cpu:.2f}" if server is not upstream else ""
            print(f"| {server.name} | {median:.2f} | {median - direct:.2f} | {shown} |")
        proxy, done = servers[-1], 0
        while done < given.memory:
            _ask(client, proxy, 1_000)
            done += 1_000
            if done % 5_000 == 0 or done >= given.memory:
                print(f"proxy after {done} more: {proxy.spent()[1] / 2**20:.1f} MiB", flush=True)
    for server in servers:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
