"""A server that answers a request without end: it drips or floods what a client skips or waits for."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event as Flag
from threading import Thread

import pytest

from tests.patience import NEVER


@dataclass(frozen=True, slots=True)
class Endless:
    """What is sent, and what is then sent again and again."""

    first: bytes
    again: bytes
    pause: float = 0.03
    """Seconds between two times."""


_OK = b"HTTP/1.1 200 OK\r\n"
_JSON = b"content-type: application/json\r\n"
_CHUNKED = _OK + _JSON + b"transfer-encoding: chunked\r\n\r\n"

DRIPS: Mapping[str, Endless] = {
    "a status line": Endless(b"HTTP/1.1 200 ", b"O"),
    "a header": Endless(_OK + b"x-long: ", b"o"),
    "headers": Endless(_OK, b"x-more: o\r\n", 0.05),
    "100 Continue": Endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "103 Early Hints": Endless(b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
    "a body of known length": Endless(_OK + _JSON + b"content-length: 1000000\r\n\r\n{", b" "),
    "a body without a length": Endless(_OK + _JSON + b"\r\n{", b" "),
    "chunks": Endless(_CHUNKED, b"1\r\n \r\n"),
    "the size of a chunk": Endless(_CHUNKED + b"1", b"0", 0.2),
    "a chunk extension": Endless(_CHUNKED + b"1;a=", b"b"),
    "trailers": Endless(_CHUNKED + b"2\r\n{}\r\n0\r\n", b"x-more: o\r\n", 0.05),
    "a stream": Endless(
        _OK + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n", b"3\r\n:\n\n\r\n"
    ),
    "an error": Endless(b"HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}
"""Slowly: each byte comes long before a read timeout."""


def _packed(encoding: bytes) -> bytes:
    return _OK + _JSON + b"content-encoding: " + encoding + b"\r\n\r\n"


_EMPTY_BLOCKS = b"\x00\x00\x00\xff\xff" * 8_000

FLOODS: Mapping[str, Endless] = {
    "100 Continue": Endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000, 0.0),
    "headers": Endless(_OK, b"x-more: o\r\n" * 1_000, 0.0),
    "empty blocks of gzip": Endless(_packed(b"gzip") + gzip.compress(b"")[:10], _EMPTY_BLOCKS, 0.0),
    "empty members of gzip": Endless(_packed(b"gzip"), gzip.compress(b"") * 2_000, 0.0),
    "empty blocks of deflate": Endless(_packed(b"deflate"), _EMPTY_BLOCKS, 0.0),
    "skippable frames of zstd": Endless(
        _packed(b"zstd"), struct.pack("<II", 0x184D2A50, 8_192) + bytes(8_192), 0.0
    ),
    "blanks": Endless(_OK + _JSON + b"\r\n", b" " * 8_192, 0.0),
    "blanks in chunks": Endless(_CHUNKED, b"80\r\n" + b" " * 128 + b"\r\n", 0.0),
    "chunk extensions": Endless(_CHUNKED, b"1;" + b"x" * 8_000 + b"\r\n \r\n", 0.0),
    "trailers": Endless(_CHUNKED + b"2\r\n{}\r\n0\r\n", b"x-more: o\r\n" * 1_000, 0.0),
}
"""As fast as they are read, and almost nothing of it is a body."""


@contextmanager
def sipping() -> Generator[str]:
    """Read every request so slowly that a long one takes hours; the URL is given."""

    closing = Flag()

    def sip(client: socket.socket) -> None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        while client.recv(1_024) and not closing.wait(0.03):
            pass

    with treating(sip) as url:
        try:
            yield url
        finally:
            closing.set()


@contextmanager
def dripping(endless: Endless | Callable[[], Endless], tls: ssl.SSLContext | None = None) -> Generator[str]:
    """Answer every request in this way, or in the one of the moment, until the client hangs up."""
    closing = Flag()

    def drip(client: socket.socket) -> None:
        if tls is None:
            speak(client)
            return
        with tls.wrap_socket(client, server_side=True) as wrapped:
            speak(wrapped)

    def speak(client: socket.socket) -> None:
        client.recv(65_536)
        way = endless if isinstance(endless, Endless) else endless()
        client.sendall(way.first)
        while not closing.wait(way.pause):
            client.sendall(way.again)

    with treating(drip) as url:
        try:
            yield url if tls is None else url.replace("http:", "https:")
        finally:
            closing.set()


@contextmanager
def answering(say: Callable[[], bytes]) -> Generator[str]:
    """Answer every request with the bytes of the moment, and close the connection; the URL is given."""

    def answer(client: socket.socket) -> None:
        client.recv(65_536)
        client.sendall(say())
        client.shutdown(socket.SHUT_WR)
        while client.recv(65_536):
            pass

    with treating(answer) as url:
        yield url


@contextmanager
def treating(treat: Callable[[socket.socket], None]) -> Generator[str]:
    """Treat each connection in this way, in a thread of its own."""

    def connected(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(NEVER)
            treat(client)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threads.append(Thread(target=connected, args=(server.accept()[0],)))
                threads[-1].start()

    threads: list[Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for each in threads:
                each.join()
