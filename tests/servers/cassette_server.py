"""A real server on this machine, for tests that need something to record."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the server got it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    promised: int | None = None
    """The content length that is promised, when it is not that of the body."""


@dataclass(slots=True)
class Server:
    url: str
    asked: list[Asked]
    lock: Lock


@contextmanager
def serving(answer: Callable[[Asked], Answer]) -> Generator[Server]:
    """Answer every request by a function, in a thread for each connection."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body go out apart, and the second would wait

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked = Asked(self.command, self.path, dict(self.headers.items()), body)
            with server.lock:
                server.asked.append(asked)
            given = answer(asked)
            self.send_response(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(given.promised or len(given.body)))
            self.end_headers()
            self.wfile.write(given.body)
            self.close_connection = given.promised is not None

        do_GET = do_POST  # noqa: N815 - its name in the base class

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Server(f"http://127.0.0.1:{http.server_address[1]}", [], Lock())
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
