"""What is peculiar to the endpoints over pyreqwest; what all endpoints have in common, their tests share."""

from __future__ import annotations

import asyncio
import os
import runpy
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import trio

from tests.patience import HANG, NEVER, eventually
from tests.samples import complaint
from tests.servers.chat_server import Answer, asking, nobody_listens, replying, serving, streaming
from tests.servers.dripping_server import Endless, dripping
from tests.servers.http2_server import serving_http2
from toolreel._internal.errors import EndpointConfigError, MissingExtra
from toolreel.http.fast import _endpoint as fast
from toolreel.http.fast._endpoint import AsyncFastEndpoint, FastEndpoint
from toolreel.testing._scripted import saying
from toolreel_core._protocol.events import ReplyReceived, RequestFailed

HELLO = replying(saying("hello"))


def test_an_interrupt_ends_the_wait_at_once_and_the_endpoint_goes_on() -> None:
    with serving(Answer(delay=NEVER), HELLO) as server, FastEndpoint(server.url) as endpoint:
        # Whoever runs the tests in the background has it ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)

        def interrupt() -> None:
            eventually(lambda: server.seen, "a request that the server has read")
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            endpoint.send(asking())
        signal.signal(signal.SIGINT, before)
        assert time.monotonic() - began < HANG
        assert isinstance(endpoint.send(asking()), ReplyReceived)


def test_threads_share_an_endpoint() -> None:
    with serving(*[HELLO] * 8) as server, FastEndpoint(server.url) as endpoint, ThreadPoolExecutor(4) as pool:
        events = [*pool.map(endpoint.send, [asking(ref=ref) for ref in range(1, 9)])]
    assert [event.ref for event in events] == [*range(1, 9)]
    assert {type(event) for event in events} == {ReplyReceived}


def test_no_more_requests_are_under_way_than_there_may_be() -> None:
    slow = Answer(b"{}", delay=0.15)
    with (
        serving(slow, slow, slow) as server,
        FastEndpoint(server.url, connections=1) as endpoint,
        ThreadPoolExecutor(3) as pool,
    ):
        began = time.monotonic()
        events = [*pool.map(endpoint.send, [asking(ref=ref) for ref in (1, 2, 3)])]
    assert time.monotonic() - began > 0.4
    assert {type(event) for event in events} == {ReplyReceived}


def test_a_failure_does_not_tell_the_query_in_which_there_may_be_a_key() -> None:
    with nobody_listens() as url, FastEndpoint(f"{url}/v1?key=not-a-real-key") as endpoint:
        event = endpoint.send(asking())
    assert isinstance(event, RequestFailed)
    assert event.message.startswith("could not connect: Connection refused")
    assert "not-a-real-key" not in repr(event)


def test_the_proxy_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(HELLO) as server:
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("HTTP_PROXY", server.url)
        with FastEndpoint("http://models.test/v1") as endpoint:
            assert isinstance(endpoint.send(asking()), ReplyReceived)
    assert server.seen[0].headers["host"] == "models.test"


def test_http_2_is_spoken_with_a_server_that_is_trusted_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with serving_http2(tmp_path, HELLO.body) as server:
        with FastEndpoint(server.url, http2=True) as endpoint:
            event = endpoint.send(asking())
        assert isinstance(event, RequestFailed)
        assert event.message.startswith("could not connect: invalid peer certificate")
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        with FastEndpoint(server.url, http2=True) as endpoint:
            assert {type(endpoint.send(asking(ref=ref))) for ref in (1, 2)} == {ReplyReceived}
    assert server.protocols == ["h2"]
    assert server.streams == [1, 3]
    assert server.left == []


def test_a_connection_is_kept_once_as_much_has_come_as_was_told() -> None:
    with (
        serving(HELLO, Answer(), HELLO, streaming("{}"), HELLO) as server,
        FastEndpoint(server.url) as endpoint,
    ):
        events = [endpoint.send(asking(ref=ref)) for ref in range(1, 6)]
    assert {type(event) for event in events} == {ReplyReceived}
    assert server.connections == 1


WHOLE: Final = {
    "in chunks, whatever length is told": Answer(
        headers={"content-length": "5"}, pieces=[b'{"ok"', 0.05, b":1}"]
    ),
    "with its length told twice": Answer(raw=b'HTTP/1.1 200 OK\r\ncontent-length: 8, 8\r\n\r\n{"ok":1}'),
    "until the connection ends": Answer(raw=b'HTTP/1.1 200 OK\r\n\r\n{"ok":1}'),
}


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE)
def test_a_body_comes_whole_however_its_end_is_told(answer: Answer) -> None:
    with serving(answer) as server, FastEndpoint(server.url) as endpoint:
        assert endpoint.send(asking()) == ReplyReceived(1, 200, '{"ok":1}')


HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
SILENT: Final = {
    "before a response": Endless(b"", b"", HANG),
    "after the head": Endless(HEAD, b"", HANG),
    "in mid-stream": Endless(HEAD + b"data:", b"", HANG),
}


@pytest.mark.parametrize("silent", SILENT.values(), ids=SILENT)
def test_a_cancelled_request_makes_room_for_another_at_once(silent: Endless) -> None:
    async def conversation(url: str) -> None:
        async with AsyncFastEndpoint(url, connections=1) as endpoint:
            for _ in range(3):
                with anyio.move_on_after(0.3) as scope:
                    await endpoint.send(asking(stream=True))
                assert scope.cancelled_caught
            server.append(answer)
            assert isinstance(await endpoint.send(asking()), ReplyReceived)

    answer = Endless(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", b"", HANG)
    server = [silent]
    with dripping(lambda: server[-1]) as url:
        anyio.run(conversation, url, backend="asyncio")


def test_no_more_async_requests_are_under_way_than_there_may_be_in_any_loop() -> None:
    async def three(endpoint: AsyncFastEndpoint) -> set[type]:
        return {type(event) for event in await asyncio.gather(*(endpoint.send(asking()) for _ in range(3)))}

    with serving(*[Answer(b"{}", delay=0.1)] * 6) as server:
        endpoint = AsyncFastEndpoint(server.url, connections=1)
        for _ in range(2):
            assert asyncio.run(three(endpoint)) == {ReplyReceived}
        asyncio.run(endpoint.aclose())
    assert server.connections <= 2


@pytest.mark.parametrize("kind", [FastEndpoint, AsyncFastEndpoint])
def test_an_address_that_is_none_is_refused(kind: type[FastEndpoint] | type[AsyncFastEndpoint]) -> None:
    assert complaint(EndpointConfigError, lambda: kind("http://300.300.300.300")) == (
        "base URL 'http://300.300.300.300/v1/chat/completions': invalid IPv4 address"
    )


@pytest.mark.parametrize("settings", [{"connections": 0}, {"timeout": -1.0}, {"connect_timeout": -1.0}])
def test_a_setting_that_cannot_be_used_is_refused(settings: dict[str, Any]) -> None:
    told = complaint(EndpointConfigError, lambda: FastEndpoint("http://127.0.0.1", **settings))
    assert told.startswith("invalid settings of the endpoint: ")


def test_on_trio_the_endpoint_that_runs_there_is_named() -> None:
    async def ask() -> None:
        endpoint = AsyncFastEndpoint("http://127.0.0.1")
        with pytest.raises(EndpointConfigError, match="on trio, use AsyncHttpEndpoint"):
            await endpoint.send(asking())

    trio.run(ask)


def test_without_pyreqwest_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyreqwest", "pyreqwest.client", "pyreqwest.response"):
        monkeypatch.setitem(sys.modules, name, None)
    assert complaint(MissingExtra, lambda: runpy.run_path(fast.__file__)) == (
        "pyreqwest is not installed: it comes with the extra 'fast', pip install 'toolreel[fast]'"
    )
