"""What reaches the port before a token is looked at: heads without end, slow clients, too many of them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TypeAlias
from urllib.parse import urlsplit

import pytest

from tests.patience import HANG
from tests.servers.chat_server import serving
from tests.servers.proxy_server import proxying, served
from toolreel._internal import Page, page_app
from toolreel._replay import ListServer
from toolreel.durable import Worker
from toolreel.proxy import ProxySettings, Route
from toolreel.testing import ScriptedEndpoint

MIB = 2**20
CHUNKED = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
Door: TypeAlias = Callable[[Path], AbstractContextManager[int]]
"""A server of ours, and its port."""

LINES = b"".join(b"x-%d: v\r\n" % number for number in range(100_000))


@contextmanager
def proxy(_tmp_path: Path) -> Generator[int]:
    with serving() as upstream, proxying(ProxySettings((Route(upstream.url),), token="secret")) as started:  # noqa: S106
        yield urlsplit(started.url).port or 0


@contextmanager
def probes(tmp_path: Path) -> Generator[int]:
    database = f"sqlite:///{tmp_path / 'runs.db'}"
    with Worker(ScriptedEndpoint([]), database, health="127.0.0.1:0") as worker:
        yield worker.health_port or 0


@contextmanager
def recordings(tmp_path: Path) -> Generator[int]:
    server = ListServer(tmp_path)
    Thread(target=server.serve, daemon=True).start()  # only Ctrl-C ends it
    yield urlsplit(server.address).port or 0


DOORS = (proxy, probes, recordings)


def connected(port: int, sent: bytes) -> socket.socket:
    """A connection on which something was sent."""
    client = socket.create_connection(("127.0.0.1", port), timeout=HANG)
    client.sendall(sent)
    return client


def answer(client: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    got = bytearray()
    with suppress(ConnectionError):  # it resets the connection if it has not read all that was sent
        while piece := client.recv(4_096):
            got += piece
    client.close()
    return bytes(got)


BEGUN = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("door", "begin", "endless"),
    [
        *(pytest.param(door, BEGUN, LINES, id=f"header lines, {door.__name__}") for door in DOORS),
        pytest.param(proxy, BEGUN + b"x-long: ", b"v" * MIB, id="a header"),
        pytest.param(proxy, b"GET /", b"v" * MIB, id="a path"),
        pytest.param(proxy, CHUNKED + b"5;", b"v" * MIB, id="the line of a chunk"),
        pytest.param(proxy, CHUNKED + b"0\r\n", LINES, id="trailers"),
    ],
)
def test_what_has_no_end_is_not_read(door: Door, begin: bytes, endless: bytes, tmp_path: Path) -> None:
    with door(tmp_path) as port:
        client = connected(port, begin)
        sent = 0
        with suppress(ConnectionError):
            while sent < 64 * MIB:
                client.sendall(endless)
                sent += len(endless)
        client.close()
    assert sent < 16 * MIB, "what lies in the buffers of both kernels"


@pytest.mark.parametrize("door", DOORS)
def test_a_request_with_two_hosts_is_refused(door: Door, tmp_path: Path) -> None:
    with door(tmp_path) as port:
        request = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n"
        assert answer(connected(port, request.encode())).startswith(b"HTTP/1.1 400 ")


def hello(_path: str, _query: str, _headers: object) -> Page:
    return Page(200, "hello")


HALF_A_BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nbody"


@pytest.mark.parametrize(
    ("limit", "sent", "answered"),
    [
        ("HEAD_SECONDS", b"", b""),
        ("HEAD_SECONDS", BEGUN, b""),
        ("HEAD_SECONDS", BEGUN + b"\r\n" + BEGUN, b"HTTP/1.1 200 OK"),
        ("BODY_SECONDS", HALF_A_BODY, b"HTTP/1.1 405 "),
    ],
)
def test_a_client_that_is_slow_is_left(
    limit: str, sent: bytes, answered: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"toolreel._internal.http_server.{limit}", 0.05)
    with served(page_app(hello), lifespan=False) as url:
        client = connected(urlsplit(url).port or 0, sent)
        client.settimeout(30)  # an idle connection is kept for 75 s
        assert answer(client).startswith(answered)


def test_those_that_wait_longest_make_room_for_a_client() -> None:
    with served(page_app(hello), connections=3, lifespan=False) as url:
        port = urlsplit(url).port or 0
        waiting = [connected(port, BEGUN) for _ in range(5)]
        assert answer(connected(port, BEGUN + b"Connection: close\r\n\r\n")).endswith(b"hello")
        for client in waiting:
            with suppress(ConnectionError):
                client.sendall(b"Connection: close\r\n\r\n")
        assert sum(answer(client).endswith(b"hello") for client in waiting) == 2, "the third place was its"


def test_where_all_are_at_work_a_client_is_told_to_come_again() -> None:
    with served(page_app(hello), connections=2, lifespan=False) as url:
        port = urlsplit(url).port or 0
        working = [connected(port, HALF_A_BODY) for _ in range(2)]
        assert [client.recv(12) for client in working] == [b"HTTP/1.1 405"] * 2
        late = BEGUN + b"Connection: close\r\n\r\n"
        assert answer(connected(port, late)).startswith(b"HTTP/1.1 503 Service Unavailable")
        for client in working:
            client.close()
