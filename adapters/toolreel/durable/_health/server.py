"""A small HTTP server next to a worker: ``/livez``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple, TypeAlias

from toolreel._internal import DurableError


class Page(NamedTuple):
    """What is answered."""

    status: int
    text: str


Pages: TypeAlias = dict[str, Callable[[], Page]]


class HealthServer:
    """Answers GET requests for a few paths, each in a thread of its own, until it is closed.

    :param address: ``HOST:PORT``; port 0 takes a free one
    :param pages: what makes the answer, by path
    :raises DurableError: if the address is none, or is taken
    """

    def __init__(self, address: str, pages: Pages) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise DurableError(f"health: {address!r} is no address; write HOST:PORT, as 127.0.0.1:9090")

        class Handler(_Handler):
            of = pages

        try:
            self._server = _Server((host.strip("[]"), int(port)), Handler)
        except OSError as error:
            raise DurableError(f"health: {address} cannot be used: {error.strerror or error}") from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, daemon=True, name="toolreel-health"
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop, and free the port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a probe that never ends its request must not keep the worker


class _Handler(BaseHTTPRequestHandler):
    of: ClassVar[Pages]
    timeout = 10  # seconds for a request to arrive

    def do_GET(self) -> None:
        page = self.of.get(self.path.partition("?")[0])
        known = ", ".join(self.of)
        status, text = Page(404, f"there is {known}\n") if page is None else page()
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401 - as http.server has it
        """Say nothing: probes come every few seconds."""
