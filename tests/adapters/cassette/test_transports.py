from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import brotli
import httpx
import pytest
import zstandard

from tests.servers.chat_server import Answer, ChatServer, serving
from tests.servers.chat_server import Seen as Asked
from toolreel.cassette import is_stored, use_cassette

Seen = tuple[int, str, list[tuple[str, str]], bytes]


def answer(asked: Asked) -> Answer:
    """What a provider might say: it counts the messages, and its headers are full of noise."""
    body = json.dumps(
        {"id": "x", "n": len(json.loads(asked.body or b'{"messages":[]}')["messages"])}
    ).encode()
    headers = {
        "Content-Type": "application/json",
        "X-Request-Id": "r-1",
        "Set-Cookie": "session=0123456789",
        "X-Noise": "1",
    }
    match asked.path.rpartition("/")[2]:
        case "gzip":
            return Answer(gzip.compress(body, mtime=0), headers=headers | {"Content-Encoding": "gzip"})
        case "deflate":
            return Answer(zlib.compress(body), headers=headers | {"Content-Encoding": "deflate"})
        case "br":
            return Answer(brotli.compress(body), headers=headers | {"Content-Encoding": "br"})
        case "zstd":
            return Answer(zstandard.compress(body), headers=headers | {"Content-Encoding": "zstd"})
        case "image":
            image = brotli.compress(b"\x89PNG\r\n\x1a\n\x00\xff")
            return Answer(image, headers=headers | {"Content-Type": "image/png", "Content-Encoding": "br"})
        case "compress":
            return Answer(b"\x1f\x9d\x90", headers=headers | {"Content-Encoding": "compress"})
        case "broken":
            return Answer(b"no gzip", headers=headers | {"Content-Encoding": "gzip"})
        case "busy":
            return Answer(b"later", 429, headers | {"Retry-After": "3"})
        case "empty":
            return Answer(b"", 204)
        case _:
            return Answer(body, headers=headers)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(answering=answer) as running:
        yield running


def seen(response: httpx.Response) -> Seen:
    """What a client gets; of the headers, those that a cassette stores."""
    headers = [
        (name, value.replace("0123456789", "REDACTED"))
        for name, value in response.headers.multi_items()
        if is_stored(name) and name != "content-encoding"
    ]
    return response.status_code, response.reason_phrase, headers, response.content


@pytest.mark.parametrize(
    "name", ["gzip", "deflate", "br", "zstd", "image", "compress", "broken", "busy", "empty"]
)
def test_a_client_that_records_gets_what_a_plain_one_gets_and_a_replay_the_same_body(
    name: str, path: Path, server: ChatServer
) -> None:
    def get(transport: httpx.BaseTransport) -> tuple[int, dict[str, str], bytes]:
        with (
            httpx.Client(transport=transport) as client,
            client.stream("GET", f"{server.url}/v1/{name}") as response,
        ):
            headers = {**response.headers, "date": ""}
            return response.status_code, headers, b"".join(response.iter_raw())

    def decoded(transport: httpx.BaseTransport) -> Seen | str:
        with httpx.Client(transport=transport) as client:
            try:
                return seen(client.get(f"{server.url}/v1/{name}"))
            except httpx.DecodingError as error:
                return str(error)

    plain = get(httpx.HTTPTransport()), decoded(httpx.HTTPTransport())
    with use_cassette(path, "record") as session:
        transport = session.transport(httpx.HTTPTransport())
        live = get(transport), decoded(transport)
    assert live == plain
    with use_cassette(path) as session:
        get(session.transport())
        assert decoded(session.transport()) == live[1]


def test_a_transport_that_has_its_answer_already_can_be_recorded(path: Path) -> None:
    inner = httpx.MockTransport(
        lambda _: httpx.Response(200, json={"a": "é"}, headers=[(b"x-request-id", b"\xe9")])
    )
    with use_cassette(path, "record") as session, httpx.Client(transport=session.transport(inner)) as client:
        live = seen(client.get("http://a.test/v1/models"))
    assert ("x-request-id", "é") in live[2]
    with use_cassette(path) as session, httpx.Client(transport=session.transport()) as client:
        assert seen(client.get("http://a.test/v1/models")) == live
