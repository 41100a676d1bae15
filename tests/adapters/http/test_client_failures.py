"""Failures of real clients at real servers become the events that our own endpoints give."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import httpx
import httpx2
import pytest

from tests.patience import HANG
from tests.samples import worked
from tests.servers.chat_server import Answer, asking, nobody_listens, replying, serving
from tests.servers.dripping_server import answering
from toolreel import ReplayMismatch
from toolreel.http import HttpEndpoint, Stalled, TooLarge, UndecodableBody, failure_event, response_event
from toolreel.testing import saying
from toolreel_core import ReplyReceived, RequestFailed
from toolreel_core._protocol import FailureKind

SHORT = 0.3
"""Seconds that a client waits for a server that is silent; a connection may take as long as it wants."""


def with_httpx(url: str) -> object:
    timeout = httpx.Timeout(HANG, read=SHORT)
    return httpx.post(url, content=b"{}", timeout=timeout, trust_env=False).raise_for_status().content


def with_httpx2(url: str) -> object:
    timeout = httpx2.Timeout(HANG, read=SHORT)
    return httpx2.post(url, content=b"{}", timeout=timeout, trust_env=False).raise_for_status().content


def with_urllib(url: str) -> object:
    with urllib.request.urlopen(url, b"{}", timeout=SHORT) as response:  # noqa: S310 - a server of this test
        return response.read()


CLIENTS: list[Callable[[str], object]] = [with_httpx, with_httpx2, with_urllib]


def failed(post: Callable[[str], object], url: str) -> RequestFailed:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is the client's choice
        post(url)
    return failure_event(7, raised.value)


@contextmanager
def silent() -> Generator[str]:
    with serving(Answer(delay=HANG)) as server:
        yield server.url


@contextmanager
def cutting_off() -> Generator[str]:
    cut = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    with answering(lambda: cut) as url:
        yield url


@contextmanager
def refusing() -> Generator[str]:
    headers = {"Retry-After": "2", "content-type": "application/json"}
    with serving(Answer(b'{"error":{"message":"slow down"}}', 429, headers=headers)) as server:
        yield server.url


@pytest.mark.parametrize("post", CLIENTS)
@pytest.mark.parametrize(
    ("server", "failure", "status"),
    [
        (nobody_listens, "connect", None),
        (silent, "timeout", None),
        (cutting_off, "broken", None),
        (refusing, "status", 429),
    ],
)
def test_each_client_fails_in_the_same_way(
    post: Callable[[str], object],
    server: Callable[[], AbstractContextManager[str]],
    failure: FailureKind,
    status: int | None,
) -> None:
    with server() as url:
        event = failed(post, f"{url}/v1?key=hush")
    assert (event.ref, event.failure, event.status) == (7, failure, status)
    assert event.message
    assert "hush" not in event.message
    if status:
        assert (event.retry_after_ms, event.message) == (2_000, "HTTP 429: slow down")


def test_a_response_is_the_event_that_our_endpoint_gives() -> None:
    refused = Answer(b'{"error":"no such model"}', 404, headers={"Retry-After": "1"})
    with serving(refused, replying(saying("Hi.")), refused, replying(saying("Hi."))) as server:
        url = f"{server.url}/v1"
        with HttpEndpoint(url) as endpoint:
            ours = [endpoint.send(asking(ref=ref)) for ref in (1, 2)]
        theirs = [httpx.post(f"{url}/chat/completions", content=b"{}") for _ in ours]
    events = [
        response_event(ref, each.status_code, each.headers, body)
        for ref, each in enumerate(theirs, 1)
        for body in (each.content, each.text)
    ]
    assert events == [ours[0], ours[0], ours[1], ours[1]]
    assert isinstance(ours[0], RequestFailed)
    assert isinstance(ours[1], ReplyReceived)


@pytest.mark.parametrize(
    "bug",
    [
        ValueError("a bug"),
        KeyError("choices"),
        ReplayMismatch("stale"),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
    ],
    ids=lambda bug: type(bug).__name__,
)
def test_what_is_no_failure_of_a_request_is_raised(bug: BaseException) -> None:
    with pytest.raises(type(bug)) as raised:
        failure_event(1, bug)
    assert raised.value is bug


def test_a_body_that_was_not_taken_in_keeps_its_status() -> None:
    assert TooLarge("too much").event(1, 502) == RequestFailed(1, "too_large", "too much", 502)
    assert Stalled("no word").event(1, 200) == RequestFailed(1, "timeout", "no word", 200)
    assert UndecodableBody("corrupt").event(1, 502) == RequestFailed(1, "broken", "corrupt", 502)


@pytest.mark.parametrize(
    ("error", "failure", "message"),
    [
        (httpx.ConnectError("refused"), "connect", "ConnectError: refused"),
        (httpx.ConnectTimeout("slow"), "connect", "ConnectTimeout: slow"),
        (httpx.ReadTimeout("slow"), "timeout", "ReadTimeout: slow"),
        (httpx.WriteTimeout("slow"), "timeout", "WriteTimeout: slow"),
        (httpx.PoolTimeout(""), "timeout", "PoolTimeout"),
        (httpx.ReadError(""), "broken", "ReadError"),
        (httpx.RemoteProtocolError("no HTTP"), "broken", "RemoteProtocolError: no HTTP"),
        (httpx.ProxyError("502"), "broken", "ProxyError: 502"),
    ],
)
def test_an_exchange_that_was_given_up_says_of_what_kind(
    error: httpx.HTTPError, failure: FailureKind, message: str
) -> None:
    assert failure_event(9, error) == RequestFailed(9, failure, message)


@pytest.mark.parametrize(("body", "said"), worked("the words of a refusal", "http"))
def test_a_refusal_is_told_in_the_words_of_its_server(body: str, said: str) -> None:
    assert response_event(1, 400, {}, body) == RequestFailed(1, "status", f"HTTP 400: {said}", 400, body)
