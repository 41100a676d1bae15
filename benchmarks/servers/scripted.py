"""A chat-completions server that costs next to nothing: it calls a tool until a run has had its turns.

    python -m benchmarks.servers.scripted

How many turns a run has is in the path, ``/turns/10/v1/chat/completions``; which one it is at is told by
how many results of tools are in the body. The first line on stdout is the port; it ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

__all__ = ["answer_body", "scripted_server"]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TURNS = re.compile(rb"/turns/(\d+)/")
_RESULT = re.compile(rb'"role": ?"tool"')


@cache
def answer_body(turn: int, turns: int) -> bytes:
    """What the model says in one of this many turns: a tool call, in the last one an answer."""
    call = {"name": "stock", "arguments": json.dumps({"part": f"pin-{turn}", "limit": 3})}
    calling = {"content": None, "tool_calls": [{"id": f"call_{turn}", "type": "function", "function": call}]}
    said = calling if turn + 1 < turns else {"content": "There are 41 pins."}
    choice = {
        "index": 0,
        "message": {"role": "assistant", **said},
        "finish_reason": "tool_calls" if said is calling else "stop",
    }
    usage = {"prompt_tokens": 100 + turn, "completion_tokens": 20, "total_tokens": 120 + turn}
    reply = {"id": f"chatcmpl-{turn}", "object": "chat.completion", "created": 1_790_000_000, "model": "m"}
    return json.dumps({**reply, "choices": [choice], "usage": usage}).encode()


@cache
def _answer(turn: int, turns: int) -> bytes:
    body = answer_body(turn, turns)
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class _Scripted(asyncio.Protocol):
    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._lacking = 0
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._lacking -= len(data)
        if not self._head:
            self._begin(b"".join(self._pieces))
        if self._head and self._lacking <= 0:
            self._finish(b"".join(self._pieces))

    def _begin(self, data: bytes) -> None:
        head, end, body = data.partition(b"\r\n\r\n")
        self._pieces = [body] if end else [data]
        self._head = head if end else b""
        if self._head and (length := _LENGTH.search(head)):
            self._lacking = int(length[1]) - len(body)

    def _finish(self, body: bytes) -> None:
        turns = _TURNS.search(self._head)
        answer = _answer(len(_RESULT.findall(body)), int(turns[1]) if turns else 1)
        self._pieces, self._head, self._lacking = [], b"", 0
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.write(answer)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Scripted, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), over.set)
    await over.wait()
    server.close()


@contextmanager
def scripted_server() -> Generator[str]:
    """The server in a process of its own; gives the URL to which ``/turns/<n>/v1`` is added."""
    command = [sys.executable, "-m", "benchmarks.servers.scripted"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(_serve())
