from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.adapters.http.ways import Ask, both
from tests.samples import complaint
from tests.servers.chat_server import (
    FAR_SIDES,
    LIMIT,
    STALL,
    Answer,
    FarSide,
    asking,
    nobody_listens,
    serving,
)
from toolreel.cassette import CassetteTransport, use_cassette
from toolreel.http import HttpEndpoint
from toolreel_core._protocol import RequestFailed


@both
@pytest.mark.parametrize("far_side", FAR_SIDES.values(), ids=FAR_SIDES)
def test_whatever_the_far_side_does_is_an_event(ask: Ask, far_side: FarSide) -> None:
    patience = httpx.Timeout(5, read=0.05 if far_side.answer.delay else 5)
    limits = {"timeout": patience, "max_response_bytes": LIMIT, "stall_timeout": STALL}
    with serving(far_side.answer) as server:
        (event,) = ask(server.url, asking(ref=7), **limits)
    assert event == far_side.failed(7, event)


@both
def test_a_server_that_is_not_there_is_an_event(ask: Ask) -> None:
    with nobody_listens() as url:
        (event,) = ask(url)
    assert isinstance(event, RequestFailed)
    assert (event.failure, event.message.partition(":")[0]) == ("connect", "ConnectError")


def test_a_body_that_is_too_large_to_record_is_an_event(tmp_path: Path) -> None:
    with serving(Answer(bytes(LIMIT + 1))) as server, use_cassette(tmp_path / "a.yaml", "record") as session:
        transport = CassetteTransport(session, httpx.HTTPTransport(), limit=LIMIT)
        with HttpEndpoint(server.url, transport=transport) as endpoint:
            event = endpoint.send(asking())
    assert isinstance(event, RequestFailed)
    assert (event.failure, event.status) == ("too_large", None)
    assert session.exchanges == []


@both
def test_what_a_transport_raises_besides_http_errors_is_not_for_the_model(ask: Ask) -> None:
    def stale(request: httpx.Request) -> httpx.Response:
        raise LookupError(f"nothing was recorded for {request.url}")

    transport = httpx.MockTransport(stale)
    assert complaint(LookupError, lambda: ask("http://127.0.0.1", transport=transport)) == (
        "nothing was recorded for http://127.0.0.1/v1/chat/completions"
    )
