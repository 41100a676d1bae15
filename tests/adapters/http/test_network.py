"""The endpoints over httpx against servers of good and bad manners, over real sockets."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Final

import anyio
import httpx
import pytest

from tests.adapters.http.ways import Ask, each
from tests.patience import HANG, eventually_async
from tests.servers.chat_server import Answer, asking, replying, serving
from tests.servers.http2_server import certificate_in
from toolreel.http import AsyncHttpEndpoint
from toolreel.testing import saying
from toolreel_core._protocol import ReplyReceived, RequestFailed

HELLO: Final = replying(saying("hello")).body
HURRIED: Final = httpx.Timeout(HANG, connect=0.3, read=0.3, write=0.3)


@contextmanager
def listening(manners: Callable[[socket.socket], None]) -> Generator[str]:
    """A server that treats each connection in the same way, and closes it."""

    def treat(client: socket.socket) -> None:
        with client, suppress(OSError):
            manners(client)

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                treated.append(Thread(target=treat, args=(client,)))
                treated[-1].start()

    treated: list[Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        thread = Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for each_ in treated:
            each_.join()


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}content-length: {len(body)}\r\n\r\n".encode() + body


def taken(client: socket.socket) -> bytes:
    """A whole request."""
    data = b""
    while not (found := re.search(rb"(?si)content-length: (\d+).*?\r\n\r\n", data)) or (
        len(data) < found.end() + int(found[1])
    ):
        more = client.recv(1_048_576)
        if not more:
            raise OSError("the client hung up")
        data += more
    return data


@each
def test_megabytes_go_out_and_come_in_whole(ask: Ask) -> None:
    effect, told = asking("é" * 2_000_000), b'{"told":"' + b"x" * 3_000_000 + b'"}'
    came: list[bytes] = []

    def manners(client: socket.socket) -> None:
        came.append(taken(client))
        client.sendall(answer(told))

    with listening(manners) as url:
        assert ask(url, effect) == [ReplyReceived(1, 200, told.decode())]
    assert came[0].endswith(effect.request.body.encode())


@each
def test_a_far_side_that_reads_nothing_is_given_up(ask: Ask) -> None:
    over: list[bool] = []

    def manners(client: socket.socket) -> None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        while not over:
            time.sleep(0.01)

    with listening(manners) as url:
        (event,) = ask(url, asking("x" * 20_000_000), timeout=HURRIED)
        over.append(True)
    assert isinstance(event, RequestFailed)
    assert (event.failure, event.message.partition(":")[0]) == ("timeout", "WriteTimeout")


@each
def test_a_refusal_that_comes_before_the_whole_request_is_heard(ask: Ask) -> None:
    def manners(client: socket.socket) -> None:
        client.recv(1_000)
        client.sendall(answer(b"no", "413 Content Too Large", "connection: close\r\n"))
        client.shutdown(socket.SHUT_WR)
        while client.recv(1_048_576):
            pass

    with listening(manners) as url:
        assert ask(url, asking("x" * 1_000_000)) == [
            RequestFailed(1, "status", "HTTP 413: no", 413, "no"),
        ]


@each
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"])
def test_a_connection_that_is_reset_is_broken(ask: Ask, said: bytes) -> None:
    def manners(client: socket.socket) -> None:
        taken(client)
        client.sendall(said)
        time.sleep(0.05)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with listening(manners) as url:
        (event,) = ask(url)
    assert isinstance(event, RequestFailed)
    assert event.failure == "broken"


@each
def test_a_connection_that_the_far_side_has_closed_in_the_meantime_is_not_asked(ask: Ask) -> None:
    def manners(client: socket.socket) -> None:
        taken(client)
        client.sendall(answer(HELLO))
        time.sleep(0.05)  # so that it looks like one that stays open

    with listening(manners) as url:
        said = ask(url, *[asking(ref=ref) for ref in (1, 2, 3)], pause=0.15)
    assert [type(event) for event in said] == [ReplyReceived] * 3


@each
def test_a_name_that_nobody_knows_is_no_place_to_connect_to(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert ask("http://nobody.invalid") == [
        RequestFailed(1, "connect", f"ConnectError: [Errno {socket.EAI_NONAME}] Name or service not known")
    ]


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """What a server needs whose certificate is in a file of the test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_in(tmp_path))
    return context


@each
def test_a_server_with_a_certificate_of_the_environment_is_spoken_to(
    ask: Ask, tls: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = b'{"told":"' + b"x" * 1_000_000 + b'"}'

    def manners(client: socket.socket) -> None:
        with tls.wrap_socket(client, server_side=True) as wrapped:
            for _ in range(2):
                taken(wrapped)
                wrapped.sendall(answer(told))

    asked = [asking("x" * 1_000_000, ref=ref) for ref in (1, 2)]
    with listening(manners) as plain:
        url = plain.replace("http:", "https:")
        (event,) = ask(url, asked[0])
        assert isinstance(event, RequestFailed)
        # httpcore does not say on trio what was wrong.
        assert re.match(r"ConnectError(: .*certificate verify failed|$)", event.message)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        assert ask(url, *asked) == [ReplyReceived(ref, 200, told.decode()) for ref in (1, 2)]


@each
def test_a_server_that_shakes_no_hands_is_given_up(ask: Ask) -> None:
    over: list[bool] = []

    def silent(client: socket.socket) -> None:
        while client.recv(4_096) and not over:
            pass

    def rude(client: socket.socket) -> None:
        client.recv(4_096)

    for manners, name in ((silent, "ConnectTimeout"), (rude, "ConnectError")):
        with listening(manners) as url:
            (event,) = ask(url.replace("http:", "https:"), timeout=HURRIED)
        assert isinstance(event, RequestFailed)
        assert (event.failure, event.message.partition(":")[0]) == ("connect", name)


@pytest.mark.anyio
async def test_a_request_that_is_cancelled_leaves_no_connection_open() -> None:
    closed: list[bytes] = []
    asked = Flag()

    def manners(client: socket.socket) -> None:
        taken(client)
        asked.set()
        closed.append(client.recv(1))

    with listening(manners) as url:
        endpoint = AsyncHttpEndpoint(url)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(endpoint.send, asking())
            await eventually_async(asked.is_set, "a request that the server has read")
            tasks.cancel_scope.cancel()
        await eventually_async(lambda: closed, "a connection that the client has closed")
        await endpoint.aclose()
    assert closed == [b""]


@pytest.mark.anyio
async def test_many_connections_are_all_closed_in_the_end() -> None:
    answers = [Answer(HELLO, delay=0.05)] * 8
    with serving(*answers) as server:
        async with AsyncHttpEndpoint(server.url) as endpoint, anyio.create_task_group() as tasks:
            for _ in answers:
                tasks.start_soon(partial(endpoint.send, asking()))
        await eventually_async(lambda: server.closed == server.connections, "connections that are all closed")
    assert server.connections == 8
