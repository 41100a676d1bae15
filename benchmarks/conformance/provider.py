"""The provider: a real HTTP server on loopback that answers with shapes and writes down what it got.

The URL names the shape and the run: ``http://127.0.0.1:PORT/s/<shape>/<run>/v1``.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.conformance.history import Message, refusals
from benchmarks.conformance.replies import Answer, final_answer, first_answer, message_answer, refusal
from benchmarks.conformance.shape import Shape

__all__ = ["Provider", "Seen", "give", "serving"]

_LIMIT = 24
"""Requests of one run that are answered; a loop that wants more has lost its way."""


@dataclass(slots=True)
class Seen:
    """What one run has sent."""

    requests: list[Mapping[str, object]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Why requests were refused."""
    taken: list[list[Message]] = field(default_factory=list)
    """The messages of each request that was not."""
    turns: int = 0
    """Further turns of the shape that were given."""


class Provider:
    """Answers requests, by run."""

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self.url = ""
        self._shapes = shapes
        self._runs: dict[str, Seen] = {}
        self._lock = threading.Lock()

    def base_url(self, shape: str, run: str) -> str:
        """Where a client finds the API for one run."""
        return f"{self.url}/s/{shape}/{run}/v1"

    def seen(self, run: str) -> Seen:
        """What a run has sent so far."""
        with self._lock:
            return self._runs.setdefault(run, Seen())

    def answer(self, shape: Shape, run: str, body: Mapping[str, object]) -> Answer:
        """The response to the next request of a run."""
        seen = self.seen(run)
        stream = body.get("stream") is True
        tools = _tool_names(body)
        with self._lock:
            seen.requests.append(body)
            if why := refusals(body, shape):
                seen.refused += why
                return refusal("; ".join(why))
            messages = _listed(body, "messages")
            seen.taken.append(messages)
            grown = messages != seen.taken[0]
            if grown and seen.turns < len(shape.then):
                seen.turns += 1
                return message_answer(shape.then[seen.turns - 1], stream=stream)
            tries = len(seen.taken)
        if not grown and (tries == 1 or not shape.transient) and tries <= _LIMIT:
            return first_answer(shape, stream=stream)
        return final_answer(tools, stream=stream)

    def shape(self, name: str) -> Shape | None:
        """The shape of that name."""
        return self._shapes.get(name)


def _listed(body: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    """The objects in a list of the body."""
    values = body.get(key)
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _tool_names(body: Mapping[str, object]) -> list[str]:
    functions = [tool.get("function") for tool in _listed(body, "tools")]
    return [str(function.get("name")) for function in functions if isinstance(function, dict)]


def give(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Write an answer as slowly, and break off as abruptly, as it says."""
    handler.send_response(answer.status)
    handler.send_header("content-type", answer.content_type)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for part in answer.parts:
        if isinstance(part, bytes):
            _write(handler, part)
        else:
            time.sleep(part)
    if answer.ending == "drop":
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
    else:
        handler.wfile.write(b"0\r\n\r\n")


def _write(handler: BaseHTTPRequestHandler, part: bytes) -> None:
    """One chunk; an empty one would end the body."""
    if part:
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        handler.wfile.flush()


@contextmanager
def serving(shapes: Mapping[str, Shape]) -> Generator[Provider]:
    """Serve on a free port of this machine until the block ends."""
    provider = Provider(shapes)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with suppress(ConnectionError):
                super().handle()

        def do_GET(self) -> None:
            give(self, Answer((b'{"error":{"message":"not found"}}',), 404))

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("content-length", 0)))
            parts = self.path.split("?")[0].strip("/").split("/")
            shape = provider.shape(parts[1]) if len(parts) > 1 else None
            if shape is None or parts[-2:] != ["chat", "completions"]:
                self.do_GET()
                return
            try:
                body = json.loads(text)
            except ValueError as error:
                provider.seen(parts[2]).refused.append(f"the body is not JSON: {error}")
                give(self, refusal("the body is not JSON"))
                return
            give(self, provider.answer(shape, parts[2], body))

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as http:
        provider.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield provider
        finally:
            http.shutdown()
            thread.join()
