"""The provider in another wire form: a server before it that reads requests and says answers in the form.

The URLs are the provider's: ``http://127.0.0.1:PORT/s/<shape>/<run>/v1``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.conformance.forms import Form, read_request, said
from benchmarks.conformance.provider import Provider, give
from benchmarks.conformance.replies import Answer, refusal

__all__ = ["speaking"]

_NOT_FOUND = Answer((b'{"error":{"message":"not found"}}',), 404)


def answered(provider: Provider, form: Form, path: str, text: bytes) -> Answer:
    """The answer to a request, in the form."""
    match path.partition("?")[0].strip("/").split("/"):
        case ["s", name, run, "v1", last] if last == form and (shape := provider.shape(name)):
            try:
                body = json.loads(text)
                request = read_request(body, form)
            except (ValueError, TypeError, AttributeError) as error:
                provider.seen(run).refused.append(f"the body is no request of this form: {error!r}")
                return refusal("the body is no request of this form")
            answer = provider.answer(shape, run, request)
            stream = body.get("stream") is True or answer.content_type == "text/event-stream"
            return said(answer, form, stream=stream) or _NOT_FOUND
        case _:
            return _NOT_FOUND


@contextmanager
def speaking(provider: Provider, form: Form) -> Generator[str]:
    """The URL of the provider in this form, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with suppress(ConnectionError):
                super().handle()

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("content-length", 0)))
            give(self, answered(provider, form, self.path, text))

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}"
        finally:
            http.shutdown()
            thread.join()
