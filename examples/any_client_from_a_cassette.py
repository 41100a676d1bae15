"""Plain httpx code, recorded once and replayed ever after; nothing of it is patched.

A server on this machine stands for the provider here. It is busy at first, then breaks off in the
middle of a stream, then answers: a replay goes through the same, without the server.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import httpx

from toolreel.cassette import Mode, use_cassette

QUESTION: Final = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hello?"}]}


def patient(client: httpx.Client, base_url: str) -> list[str]:
    """Ask until an answer comes whole, and tell what happened on the way."""
    story: list[str] = []
    while "data: [DONE]" not in story:
        try:
            with client.stream("POST", f"{base_url}/chat/completions", json=QUESTION) as response:
                story.append(f"HTTP {response.status_code}")
                for line in response.iter_lines():
                    story += [line] if line else []
        except httpx.TransportError as error:
            story.append(type(error).__name__)
    return story


def session(cassette: Path, mode: Mode, base_url: str) -> list[str]:
    """The same code live and replayed: only the client's transport is told of the cassette."""
    with use_cassette(cassette, mode) as tape, httpx.Client(transport=tape.transport()) as client:
        return patient(client, base_url)


class Provider(BaseHTTPRequestHandler):
    """A provider on a bad day."""

    asked = 0

    def do_POST(self) -> None:
        """Be busy, then break off, then answer."""
        Provider.asked += 1
        self.rfile.read(int(self.headers["content-length"]))
        if Provider.asked == 1:
            self.send_response(429)
            self.end_headers()
            return
        frames = ["data: Hel\n\n", "data: lo.\n\n", "data: [DONE]\n\n"]
        whole = "".join(frames).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(whole)))
        self.end_headers()
        self.wfile.write(frames[0].encode() if Provider.asked == 2 else whole)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@contextmanager
def provider() -> Generator[str]:
    """The provider's base URL, as long as it is there."""
    with HTTPServer(("127.0.0.1", 0), Provider) as http:
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}/v1"
        finally:
            http.shutdown()
            thread.join()


def main() -> None:
    """Record, replay, and show what the file says of the stream that broke off."""
    with tempfile.TemporaryDirectory() as folder:
        cassette = Path(folder) / "hello.yaml"
        with provider() as base_url:
            live = session(cassette, "auto", base_url)
        again = session(cassette, "auto", "https://anywhere.invalid/v1")
        text = cassette.read_text()
    print(again)
    print(text[text.index("  error:") :].partition("\n- ")[0])
    assert live == again
    assert again[:4] == ["HTTP 429", "HTTP 200", "data: Hel", "RemoteProtocolError"]
    assert again[4:] == ["HTTP 200", "data: Hel", "data: lo.", "data: [DONE]"]


if __name__ == "__main__":
    main()
