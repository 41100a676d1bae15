"""The scripted server that all contestants talk to: ``python -m benchmarks.peers.server``.

It answers ``/job/7/turns/50/end/text/v1/chat/completions`` with a call of the tool until a run has had its
50 turns, then with a text; where the path says ``end/final_answer``, with a call of that tool. After ``GET
/cut/7`` every run of that job is ended at its next request, and told so. A reply tells its turn in the id
of its call, and the request that follows has that id near its end: nothing is parsed, and nothing is kept
of a run. ``GET`` answers how many requests came and what CPU time they took. The first line of stdout is
the port; the process ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import ClassVar, cast

from benchmarks.peers.task import CUT, DONE, TOOL, arguments
from benchmarks.shared.environment import ROOT

__all__ = ["Server", "Spent", "serving"]

_PATH = re.compile(rb"POST /job/(\d+)/turns/(\d+)/end/(\w+)/")
_CUT = re.compile(rb"GET /cut/(\d+) ")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ID = b"turn-"
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Spent:
    """What the server has done so far."""

    requests: int
    cpu: float
    """Seconds, user and system."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server in a process of its own."""

    url: str
    jobs: Iterator[int] = field(default_factory=count)
    """Numbers for the jobs of all clients."""

    def base_url(self, job: int, turns: int, end: str = "text") -> str:
        """What a client is given, for runs of that many turns.

        :param end: how they end: by a ``text``, or by a call of the tool of that name
        """
        return f"{self.url}/job/{job}/turns/{turns}/end/{end}/v1"

    def cut_url(self, job: int) -> str:
        """What is asked for by who has had enough of a job."""
        return f"{self.url}/cut/{job}"

    def spent(self) -> Spent:
        """What it has done so far."""
        with urllib.request.urlopen(self.url, timeout=60) as told:  # noqa: S310 - it is ours
            return Spent(**json.load(told))


@lru_cache(maxsize=4096)
def _call(turn: int) -> bytes:
    """Calls the tool; the id says which turn it is."""
    return _reply(turn, TOOL, f"turn-{turn:0{_DIGITS}}", arguments(turn))


@lru_cache(maxsize=64)
def _final(end: str, text: str) -> bytes:
    """Ends the run with that text."""
    if end != "text":
        return _reply(0, end, "last", {"answer": text})
    return _response({"role": "assistant", "content": text}, "stop")


def _reply(turn: int, tool: str, identity: str, given: dict[str, str]) -> bytes:
    function = {"name": tool, "arguments": json.dumps(given)}
    call = {"id": identity, "type": "function", "function": function}
    return _response({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls", turn)


def _response(message: dict[str, object], finish: str, turn: int = 0) -> bytes:
    usage = {"prompt_tokens": 100 + turn, "completion_tokens": 20, "total_tokens": 120 + turn}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000, "model": "m"}
    return _http({**about, "choices": [choice], "usage": usage})


def _http(tree: dict[str, object]) -> bytes:
    body = json.dumps(tree).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _answer(head: bytes, body: bytes) -> bytes:
    """The reply to a request."""
    path = _PATH.match(head)
    if path is None:
        if asked := _CUT.match(head):
            _Connection.cut.add(asked[1])
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return _http({"requests": _Connection.requests, "cpu": usage.ru_utime + usage.ru_stime})
    _Connection.requests += 1
    at = body.rfind(_ID) + len(_ID)
    turn = int(body[at : at + _DIGITS]) + 1 if at >= len(_ID) else 1
    if turn >= int(path[2]):
        return _final(path[3].decode(), DONE)
    if path[1] in _Connection.cut:
        return _final(path[3].decode(), CUT)
    return _call(turn)


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    requests = 0
    """That came over all connections."""
    cut: ClassVar[set[bytes]] = set()
    """Jobs whose runs are ended."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._head = b""
        self._missing = 0
        """Bytes of the body that are still to come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connects."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take a piece, and answer if it was the last one of a request."""
        self._pieces.append(data)
        if self._head:
            self._missing -= len(data)
        else:
            head, end, body = b"".join(self._pieces).partition(b"\r\n\r\n")
            if not end:
                return
            length = _LENGTH.search(head)
            self._head, self._pieces = head, [body]
            self._missing = (int(length[1]) if length else 0) - len(body)
        if self._missing <= 0:
            self._transport.write(_answer(self._head, b"".join(self._pieces)))
            self._head, self._pieces = b"", []


async def _serve() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    server = await loop.create_server(_Connection, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop.add_reader(sys.stdin.fileno(), over.set)
    await over.wait()


@contextmanager
def serving() -> Generator[Server]:
    """The server, for as long as the block is open."""
    command = [sys.executable, "-m", "benchmarks.peers.server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        if process.stdout is None:
            raise TypeError("the server was started without a pipe")
        yield Server(f"http://127.0.0.1:{process.stdout.readline().strip()}")


if __name__ == "__main__":
    asyncio.run(_serve())
