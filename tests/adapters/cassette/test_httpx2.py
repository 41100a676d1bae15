from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import httpx
import httpx2
import pytest

from tests.servers.chat_server import Answer, nobody_listens, replying, serving
from toolreel.cassette import (
    AsyncHttpx2Transport,
    AsyncRecordTransport,
    AsyncReplayTransport,
    Httpx2Transport,
    Recording,
    RecordTransport,
    ReplayTransport,
    recording,
    replaying,
)
from toolreel_core._errors import ReplayMismatch

ANSWER = replying({"choices": []}, 201)
ASKED = {"model": "m", "messages": []}


def ask(transport: httpx.BaseTransport, url: str) -> httpx2.Response:
    with httpx2.Client(transport=Httpx2Transport(transport)) as client:
        return client.post(f"{url}/v1/chat/completions", json=ASKED, headers={"x-own": "1"})


async def aask(transport: httpx.AsyncBaseTransport, url: str) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=AsyncHttpx2Transport(transport)) as client:
        return await client.post(f"{url}/v1/chat/completions", json=ASKED, headers={"x-own": "1"})


def test_a_client_of_httpx2_records_and_replays(tmp_path: Path) -> None:
    path = tmp_path / "tape.yaml"
    with serving(ANSWER) as server, recording(path) as tape:
        live = ask(RecordTransport(tape, httpx.HTTPTransport()), server.url)
    assert server.seen[0].headers["x-own"] == "1"
    with replaying(path) as tape:
        replayed = ask(ReplayTransport(tape), "http://elsewhere.invalid")
    for response in (live, replayed):
        assert (response.status_code, response.json()) == (201, {"choices": []})
        assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_client_of_httpx2_records_and_replays(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "tape.yaml"
    with serving(ANSWER) as server, recording(path) as tape:
        live = AsyncRecordTransport(tape, httpx.AsyncHTTPTransport())
        anyio.run(partial(aask, live, server.url), backend=backend)
    with replaying(path) as tape:
        response = anyio.run(partial(aask, AsyncReplayTransport(tape), "http://no.invalid"), backend=backend)
    assert (response.status_code, response.json()) == (201, {"choices": []})


def test_a_drift_is_not_taken_for_an_error_of_the_network(tmp_path: Path) -> None:
    path = tmp_path / "tape.yaml"
    with serving(ANSWER) as server, recording(path) as tape:
        ask(RecordTransport(tape, httpx.HTTPTransport()), server.url)
    replay = ReplayTransport(Recording.load(path))
    ask(replay, "http://no.invalid")
    with pytest.raises(ReplayMismatch, match="asked for more often"):
        ask(replay, "http://no.invalid")


def test_errors_are_those_of_httpx2() -> None:
    with nobody_listens() as url:
        with pytest.raises(httpx2.ConnectError) as caught:
            ask(httpx.HTTPTransport(), url)
        assert isinstance(caught.value.__cause__, httpx.ConnectError)
        with pytest.raises(httpx2.ConnectError):
            anyio.run(partial(aask, httpx.AsyncHTTPTransport(), url))


def test_a_body_that_breaks_off_is_an_error_of_httpx2() -> None:
    cut = Answer(b'{"choices":', promised=500)
    with serving(cut, cut) as server:
        with pytest.raises(httpx2.RemoteProtocolError):
            ask(httpx.HTTPTransport(), server.url)
        with pytest.raises(httpx2.RemoteProtocolError):
            anyio.run(partial(aask, httpx.AsyncHTTPTransport(), server.url))
