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
from toolreel._internal import CassetteError
from toolreel.cassette import RecordTransport, ReplayTransport, is_stored, recording, replaying

SECRET = "sk-" + "abcdefghij0123456789"
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


def turns(count: int) -> Iterator[bytes]:
    messages = [{"role": "user", "content": "I am me"}]
    for turn in range(count):
        yield json.dumps({"messages": messages}).encode()
        messages = [*messages, {"role": "assistant", "content": str(turn)}]


def session(transport: httpx.BaseTransport, base: str, *, count: int = 3) -> list[Seen]:
    with httpx.Client(transport=transport, headers={"authorization": f"Bearer {SECRET}"}) as client:
        url = f"{base}/v1/chat/completions"
        return [seen(client.post(url, content=body)) for body in turns(count)]


def record(path: Path, server: ChatServer) -> list[Seen]:
    with recording(path, known_secrets={}) as tape:
        return session(RecordTransport(tape, httpx.HTTPTransport()), server.url)


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
    with recording(path) as tape:
        transport = RecordTransport(tape, httpx.HTTPTransport())
        live = get(transport), decoded(transport)
    assert live == plain
    with replaying(path) as tape:
        get(ReplayTransport(tape))
        assert decoded(ReplayTransport(tape)) == live[1]


def test_a_transport_that_has_its_answer_already_can_be_recorded(path: Path) -> None:
    inner = httpx.MockTransport(
        lambda _: httpx.Response(200, json={"a": "é"}, headers=[(b"x-request-id", b"\xe9")])
    )
    with recording(path) as tape, httpx.Client(transport=RecordTransport(tape, inner)) as client:
        live = seen(client.get("http://a.test/v1/models"))
    assert ("x-request-id", "é") in live[2]
    with replaying(path) as tape, httpx.Client(transport=ReplayTransport(tape)) as client:
        assert seen(client.get("http://a.test/v1/models")) == live


def test_a_recording_that_exists_is_overwritten_only_when_told_so(path: Path, server: ChatServer) -> None:
    record(path, server)
    before = path.read_text()
    with (
        pytest.raises(CassetteError, match="exists already: delete it, or record with overwrite=True"),
        recording(path),
    ):
        pytest.fail("it must not begin")
    with recording(path, overwrite=True):
        pass
    assert path.read_text() == before
    with recording(path, overwrite=True, known_secrets={}) as tape:
        session(RecordTransport(tape, httpx.HTTPTransport()), server.url, count=1)
    assert path.read_text().count("- request:") == 1


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_what_was_recorded_before_a_failure_is_saved(
    failure: type[BaseException], path: Path, server: ChatServer
) -> None:
    def fail() -> None:
        with recording(path, known_secrets={}) as tape:
            session(RecordTransport(tape, httpx.HTTPTransport()), server.url, count=2)
            raise failure

    with pytest.raises(failure):
        fail()
    with replaying(path) as tape:
        assert len(session(ReplayTransport(tape), server.url, count=2)) == 2


def test_a_failure_is_not_hidden_by_the_secret_that_stopped_the_saving(
    path: Path, server: ChatServer
) -> None:
    def fail() -> None:
        with recording(path, known_secrets={"ME": "I am me"}) as tape:
            session(RecordTransport(tape, httpx.HTTPTransport()), server.url)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    (note,) = caught.value.__notes__
    assert note.startswith("The recording was not saved. ")
    assert "value of ME" in note
    assert not path.exists()
