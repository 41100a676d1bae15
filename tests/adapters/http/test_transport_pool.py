"""Connections of the endpoints over httpx: what is kept, how many there are, who else carries requests."""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import parse_headers
from pathlib import Path
from unittest.mock import Mock

import anyio
import httpx
import pytest

from tests.adapters.http.ways import Ask, each
from tests.patience import HANG, NEVER, eventually, eventually_async
from tests.samples import complaint
from tests.servers.chat_server import Answer, asking, replying, serving
from tests.servers.dripping_server import answering, treating
from tests.servers.http2_server import serving_http2
from tests.servers.odd_answers import whole
from toolreel._internal import EndpointConfigError
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.http import _transport_pool as transports
from toolreel.testing import saying
from toolreel_core._protocol import ReplyReceived, RequestFailed

HELLO = replying(saying("hello"))
SLOW = Answer(b"{}", delay=0.15)
TOGETHER = Answer(b"{}", delay=1.0)
"""So long that each of three requests at once needs a connection, on a busy machine too."""


class Clock:
    """The clock of the pools, which stands still until a test moves it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(transports, "time", self)

    def monotonic(self) -> float:
        """Seconds."""
        return self.now


CLOSED = Answer(raw=b"")
"""What a server does that closes an idle connection just as a request arrives on it."""
HALF = Answer(raw=b"HTTP/1.1 200 OK\r\ncontent-")
ONCE_MORE: dict[str, tuple[list[Answer], list[type], int]] = {
    "a connection is used again": ([HELLO, HELLO], [ReplyReceived] * 2, 1),
    "a used connection was closed": ([HELLO, CLOSED, HELLO], [ReplyReceived] * 2, 2),
    "closed again, it is not sent again": (
        [HELLO, CLOSED, CLOSED, HELLO],
        [ReplyReceived, RequestFailed, ReplyReceived],
        3,
    ),
    "a new connection was closed": ([CLOSED, HELLO], [RequestFailed, ReplyReceived], 2),
    "something of a reply had come": ([HELLO, HALF, HELLO], [ReplyReceived, RequestFailed, ReplyReceived], 2),
    "each request has one more try": ([HELLO, CLOSED, HELLO, CLOSED, HELLO], [ReplyReceived] * 3, 3),
}
"""What a server does, what comes of the requests, and how many connections they take."""


@each
@pytest.mark.parametrize(("script", "kinds", "connections"), ONCE_MORE.values(), ids=ONCE_MORE)
def test_a_request_on_a_closed_connection_is_sent_once_more(
    ask: Ask, script: list[Answer], kinds: list[type], connections: int
) -> None:
    with serving(*script) as server:
        said = ask(server.url, *[asking(ref=ref) for ref in range(len(kinds))])
    assert [type(event) for event in said] == kinds
    assert server.connections == connections
    assert len({seen.body for seen in server.seen}) == 1


def test_a_connection_that_is_reset_while_a_long_request_is_written_is_closed_too() -> None:
    """The server does not read what it refuses, so the client gets a reset in the midst of writing."""
    long = asking("x" * 3_000_000)
    with one_request_a_connection() as (url, opened), HttpEndpoint(url) as endpoint:
        kinds = [type(endpoint.send(effect)) for effect in (asking(), long, long)]
    assert kinds == [ReplyReceived] * 3
    assert len(opened) == 3


@contextmanager
def one_request_a_connection() -> Generator[tuple[str, list[socket.socket]]]:
    """A server that says it keeps connections, and resets each when a second request comes on it."""
    opened: list[socket.socket] = []

    def treat(client: socket.socket) -> None:
        opened.append(client)
        with client.makefile("rb") as asked:
            asked.readline()
            asked.read(int(parse_headers(asked)["content-length"]))
        client.sendall(whole(body=HELLO.body))
        client.recv(1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with treating(treat) as url:
        yield url, opened


@each
def test_requests_wait_for_a_free_connection(ask: Ask) -> None:
    asked = [asking(ref=ref) for ref in (1, 2, 3)]
    with serving(*[SLOW] * 3) as server:
        timeout = httpx.Timeout(HANG, pool=0.01)
        said = ask(server.url, *asked, at_once=True, connections=1, timeout=timeout)
    assert [type(event) for event in said] == [ReplyReceived] * 3
    assert server.connections == 1


@each
def test_a_refusal_that_comes_before_the_whole_request_is_heard(ask: Ask) -> None:
    refusal = b"HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno"
    with answering(lambda: refusal) as url:
        assert ask(url, asking("x" * 1_000_000)) == [RequestFailed(1, "status", "HTTP 413: no", 413, "no")]


@pytest.mark.anyio
async def test_a_request_that_is_cancelled_frees_its_place() -> None:
    with serving(Answer(delay=NEVER), HELLO) as server:
        async with AsyncHttpEndpoint(server.url, connections=1) as endpoint:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(endpoint.send, asking())
                await eventually_async(lambda: server.seen, "a request that the server has read")
                tasks.cancel_scope.cancel()
            assert isinstance(await endpoint.send(asking()), ReplyReceived)
    assert server.connections == 2


def test_a_transport_that_cannot_be_made_takes_no_place() -> None:
    makes = Mock(side_effect=[OSError("no descriptors"), httpx.MockTransport(lambda _: httpx.Response(200))])
    with HttpEndpoint("http://models.test", transport=transports.Pool(makes, 1), deadline=5.0) as endpoint:
        with pytest.raises(OSError, match="descriptors"):
            endpoint.send(asking())
        assert isinstance(endpoint.send(asking()), ReplyReceived)


def test_an_endpoint_that_is_closed_while_it_waits_keeps_no_connection() -> None:
    with serving(Answer(b"{}", delay=0.5)) as server, HttpEndpoint(server.url) as endpoint:

        def close() -> None:
            eventually(lambda: server.seen, "a request that the server has read")
            endpoint.close()

        closing = threading.Thread(target=close)
        closing.start()
        assert isinstance(endpoint.send(asking()), ReplyReceived)
        closing.join()
        with pytest.raises(RuntimeError, match="closed"):
            endpoint.send(asking())


def test_idle_connections_expire_while_another_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with serving(*[TOGETHER] * 3, HELLO, HELLO) as server, HttpEndpoint(server.url) as endpoint:
        with ThreadPoolExecutor(3) as pool:
            deque(pool.map(endpoint.send, [asking(ref=ref) for ref in (1, 2, 3)]))
        for ref in (4, 5):
            clock.now += transports.EXPIRY * 0.6
            endpoint.send(asking(ref=ref))
        eventually(lambda: server.closed == 2, "two connections that are closed")
        assert server.connections == 3


def test_a_proxy_that_cannot_be_used_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "gopher://me:not-a-real-key@proxy.test")
    assert complaint(EndpointConfigError, lambda: HttpEndpoint("https://models.test/v1")) == (
        "the environment names an invalid proxy for https: expected http://, https:// or socks5:// and a host"
    )


def test_a_client_of_yours_is_asked_with_its_hooks_auth_and_headers() -> None:
    seen: list[bytes] = []
    client = httpx.Client(
        auth=("me", "not-a-real-key"),
        headers={"x-team": "blue"},
        event_hooks={"response": [lambda response: seen.append(response.read())]},
    )
    with serving(HELLO) as server, client:
        with HttpEndpoint(server.url, transport=client) as endpoint:
            event = endpoint.send(asking())
        assert not client.is_closed
    assert event == ReplyReceived(1, 200, HELLO.body.decode())
    assert seen == [HELLO.body]
    assert server.seen[0].headers["x-team"] == "blue"
    assert server.seen[0].headers["authorization"].startswith("Basic ")


@each
def test_transports_may_answer_with_whole_responses(ask: Ask) -> None:
    whole = httpx.MockTransport(lambda _: httpx.Response(200, content=HELLO.body))
    expected = ReplyReceived(1, 200, HELLO.body.decode())
    assert ask("http://models.test", transport=whole) == [expected]


@pytest.mark.parametrize("http2", [True, False])
def test_http_2_is_spoken_with_a_server_that_is_trusted_by_the_environment(
    http2: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with serving_http2(tmp_path, HELLO.body) as server:
        with HttpEndpoint(server.url, http2=True) as endpoint:
            event = endpoint.send(asking())
        assert isinstance(event, RequestFailed)
        assert "certificate verify failed" in event.message
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        with HttpEndpoint(server.url, http2=http2) as endpoint:
            kinds = {type(endpoint.send(asking(ref=ref))) for ref in (1, 2)}
    if http2:
        assert kinds == {ReplyReceived}
        assert server.protocols == ["h2"]
        assert server.streams == [1, 3]
    else:
        assert kinds == {RequestFailed}  # since this server speaks nothing else


def test_settings_that_cannot_be_used_are_refused() -> None:
    assert complaint(EndpointConfigError, lambda: HttpEndpoint("http://127.0.0.1", connections=0)) == (
        "connections must be at least 1, got 0"
    )
    assert "base URL" in complaint(
        EndpointConfigError, lambda: HttpEndpoint("http://\u2603.\u2603\u3002.test/v1")
    )


def test_a_socks_proxy_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "find_spec", lambda _: None)
    assert complaint(
        EndpointConfigError, lambda: HttpEndpoint("http://models.test", proxy="socks5://me:pw@proxy.test")
    ) == ("invalid proxy: SOCKS needs the package socksio, pip install 'httpx[socks]'")
