"""No exchange outlasts its deadline or the time of its run, and none takes in more than it may."""

from __future__ import annotations

import gc
import re
import ssl
import time
from pathlib import Path
from typing import cast

import anyio
import httpx
import pytest
import trio

from tests.adapters.http.ways import WAYS, Ask, Said, each
from tests.patience import HANG
from tests.servers.chat_server import asking
from tests.servers.dripping_server import DRIPS, FLOODS, Endless, dripping, sipping
from tests.servers.http2_server import certificate_in
from toolreel._driver import Resting, arun, run
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel_core._plan import Plan
from toolreel_core._protocol import Outcome, RequestFailed, SendRequest, TransportFailed
from toolreel_core._settings import LoopConfig

SOON = 0.5
"""Seconds; a test waits so long for what never ends."""
LATE = f"the exchange was not complete after {SOON} s, its deadline"


def ended_by_the_deadline(ask: Ask, url: str, *effects: SendRequest) -> list[RequestFailed]:
    """What ends exchanges that are connected; a busy machine may not manage that in time."""
    while True:
        events = [
            event
            for event in ask(url, *effects, at_once=True, deadline=SOON)
            if isinstance(event, RequestFailed)
        ]
        assert len(events) == len(effects)
        if all(event.failure != "connect" for event in events):
            return events


@each
@pytest.mark.parametrize("drip", DRIPS.values(), ids=DRIPS)
def test_an_exchange_ends_at_its_deadline_whatever_drips(ask: Ask, drip: Endless) -> None:
    with dripping(drip) as url:
        began = time.monotonic()
        events = ended_by_the_deadline(ask, url, asking(), asking(stream=True, ref=2))
        took = time.monotonic() - began
    assert [(event.failure, event.message.rpartition(": ")[2]) for event in events] == [("timeout", LATE)] * 2
    assert SOON <= took < HANG


WHY = {
    "100 Continue": f"no response$|{LATE}",  # the latter if the server was too slow to flood anything
    "headers": "Receive buffer too long|message head is too large",
    "empty members of gzip": "the gzip body goes on after its end",
    "chunk extensions": "for a body of at most 100000$|chunk extensions over limit",
    "trailers": "Receive buffer too long|chunk trailers count overflow",
}
"""Why a flood ends; others are larger than a body may be."""


@each
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_nothing_ends(ask: Ask, flood: str) -> None:
    # Only the deadline ends interim responses for hyper; all else has the time that a busy machine takes.
    deadline = SOON if flood == "100 Continue" else HANG
    with dripping(FLOODS[flood]) as url:
        (event,) = ask(url, deadline=deadline, max_response_bytes=100_000)
    assert isinstance(event, RequestFailed)
    assert re.search(WHY.get(flood, "^the response body is larger than 100000 bytes"), event.message)


@each
def test_a_request_that_is_read_too_slowly_ends_at_the_deadline(ask: Ask) -> None:
    with sipping() as url:
        (event,) = ended_by_the_deadline(ask, url, asking("x" * 20_000_000))
    assert (event.failure, event.message.rpartition(": ")[2]) == ("timeout", LATE)


@each
def test_the_wait_for_a_free_connection_ends_at_the_deadline(ask: Ask) -> None:
    with dripping(DRIPS["a header"]) as url:
        said = ask(url, *[asking(ref=ref) for ref in range(3)], at_once=True, connections=1, deadline=SOON)
    assert {(type(event), getattr(event, "failure", "")) for event in said} == {(RequestFailed, "timeout")}
    assert sorted(event.ref for event in said) == [0, 1, 2]


class CutOff(httpx.AsyncBaseTransport):
    """A connection that breaks while it sends the body."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Begin to send, and fail."""
        async for _ in cast("httpx.AsyncByteStream", request.stream):
            raise httpx.WriteTimeout("too slow")
        raise AssertionError("there was nothing to send")


def test_a_body_that_is_cut_off_leaves_no_generator_for_trio_to_warn_about() -> None:
    async def send() -> Said:
        async with AsyncHttpEndpoint("http://a.test", transport=CutOff()) as endpoint:
            return await endpoint.send(asking())

    assert isinstance(trio.run(send), RequestFailed)
    gc.collect()  # the warning would come here


LIMITED = Plan.of(model="m", messages="Go.", config=LoopConfig(max_wall_ms=500, max_tries=1))


def outcome_at(url: str, backend: str) -> Outcome | Resting:
    """That of a run; it is sync without a backend."""
    if not backend:
        with HttpEndpoint(url) as endpoint:
            return run(LIMITED, endpoint).outcome

    async def conversation() -> Outcome | Resting:
        async with AsyncHttpEndpoint(url) as endpoint:
            return (await arun(LIMITED, endpoint)).outcome

    return anyio.run(conversation, backend=backend)


@pytest.mark.parametrize("backend", ["", "asyncio", "trio"])
def test_no_exchange_outlasts_its_run(backend: str) -> None:
    with dripping(DRIPS["headers"]) as url:
        outcome = outcome_at(url, backend)
    assert isinstance(outcome, TransportFailed)
    assert outcome.failure == "timeout"
    assert re.search(r"not complete after 0\.\d+ s, which is all that the run's max_wall_ms", outcome.message)


@pytest.mark.parametrize("drip", ["a header", "100 Continue", "trailers"])
def test_a_client_of_yours_observes_the_deadline_too(drip: str) -> None:
    with (
        dripping(DRIPS[drip]) as url,
        httpx.Client() as client,
        HttpEndpoint(url, transport=client, deadline=SOON) as endpoint,
    ):
        event = endpoint.send(asking())
    assert event == RequestFailed(1, "timeout", f"ReadTimeout: {LATE}")


class Deaf(httpx.AsyncBaseTransport):
    """A transport that knows no trace and no timeout."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await anyio.sleep(HANG)
        raise AssertionError(request)


@pytest.mark.anyio
async def test_an_async_transport_that_waits_for_ever_is_cancelled() -> None:
    async with AsyncHttpEndpoint("http://127.0.0.1", transport=Deaf(), deadline=0.2) as endpoint:
        event = await endpoint.send(asking())
    assert event == RequestFailed(1, "timeout", "the exchange was not complete after 0.2 s, its deadline")


@pytest.mark.parametrize("drip", ["a header", "a body of known length"])
def test_an_exchange_over_tls_ends_at_its_deadline(
    drip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_in(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    with dripping(DRIPS[drip], context) as url:
        said = [ask(url, deadline=1.0)[0] for ask in WAYS.values()]
    assert [
        (event.failure, event.message.rpartition(": ")[2]) if isinstance(event, RequestFailed) else event
        for event in said
    ] == [("timeout", LATE.replace(str(SOON), "1"))] * len(WAYS)
