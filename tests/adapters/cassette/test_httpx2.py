from __future__ import annotations

from functools import partial

import anyio
import httpx
import httpx2
import pytest

from tests.servers.chat_server import Answer, nobody_listens, serving
from toolreel.cassette import Httpx2Transport

ASKED = {"model": "m", "messages": []}


def ask(transport: httpx.BaseTransport, url: str) -> httpx2.Response:
    with httpx2.Client(transport=Httpx2Transport(transport)) as client:
        return client.post(f"{url}/v1/chat/completions", json=ASKED, headers={"x-own": "1"})


async def aask(transport: httpx.AsyncBaseTransport, url: str) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=Httpx2Transport(transport)) as client:
        return await client.post(f"{url}/v1/chat/completions", json=ASKED, headers={"x-own": "1"})


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
