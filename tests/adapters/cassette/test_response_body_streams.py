"""What a recorded response is for the client that replays it: encodings, events, and what cannot be read."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio
import brotli
import httpx
import pytest

from tests.patience import NEVER
from tests.samples import complaint
from tests.servers.chat_server import (
    KEPT_ALIVE,
    LIMIT,
    STALL,
    Answer,
    asking,
    bomb,
    chunk,
    serving,
    streaming,
)
from toolreel._internal import CassetteError, SecretFound
from toolreel._journal import FileJournal
from toolreel.cassette import (
    AsyncRecordTransport,
    Recording,
    RecordTransport,
    ReplayTransport,
    Session,
    StoredResponse,
    recording,
    replaying,
    use_cassette,
)
from toolreel.cassette import _transports as cassette_replayed
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint, TooLarge
from toolreel_core._plan import Plan
from toolreel_core._protocol import ReplyReceived, RequestFailed

EVENTS: Final = (chunk("Hel"), ": alive\n\n", chunk("lo", "stop"), "data: [DONE]\n\n")

each_encoding = pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br", "zstd"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.yaml"


def got(session: Session, url: str) -> tuple[int, dict[str, str], bytes]:
    with httpx.Client(transport=session.transport()) as client:
        response = client.post(f"{url}/v1/chat/completions", json={})
    return response.status_code, dict(response.headers), response.content


@each_encoding
def test_a_stream_comes_event_by_event_live_and_replayed(encoding: str, path: Path) -> None:
    def pieces(session: Session, url: str) -> list[bytes]:
        with (
            httpx.Client(transport=session.transport()) as client,
            client.stream("POST", f"{url}/v1/chat/completions", json={}) as response,
        ):
            return [piece for piece in response.iter_bytes() if piece]

    answer = streaming(*(part for event in EVENTS for part in (event, 0.02)), encoding=encoding)
    with serving(answer) as server, use_cassette(path, "record") as session:
        live = pieces(session, server.url)
    assert live == [event.encode() for event in EVENTS]
    with use_cassette(path) as session:
        assert pieces(session, "http://a.test") == live


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_events_end_with_any_empty_line(end: str, path: Path) -> None:
    body = f"data: 1{end}{end}data: 2{end}{end}data: 3".encode()
    stored = StoredResponse(200, "OK", (("content-type", "Text/Event-Stream"),), body)
    stream = cassette_replayed.replayed(stored, path, httpx.Request("GET", "http://a.test")).stream
    assert isinstance(stream, httpx.SyncByteStream)
    assert [*stream] == [f"data: 1{end}{end}".encode(), f"data: 2{end}{end}".encode(), b"data: 3"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_a_bomb_is_not_recorded(encoding: str, path: Path) -> None:
    with serving(bomb(64, encoding)) as server, recording(path) as tape:
        transport = RecordTransport(tape, httpx.HTTPTransport(), limit=LIMIT)
        with httpx.Client(transport=transport) as client, pytest.raises(TooLarge):
            client.post(server.url, json={})
    assert not path.exists()


@pytest.mark.parametrize(("encoding", "package"), [("br", "brotli"), ("gzip, zstd", "zstandard")])
def test_a_body_that_httpx_could_not_read_here_names_the_package(
    encoding: str, package: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As older versions recorded it, or a client without the package."""
    tape = Recording.blank(path)
    packed = StoredResponse(200, "OK", (("content-encoding", encoding),), brotli.compress(b"hi"))
    tape.append("POST", "http://a.test/v1/chat/completions", {}, b"{}", packed)
    tape.save({})
    monkeypatch.setattr(cassette_replayed, "find_spec", lambda _: None)
    with use_cassette(path) as session, pytest.raises(CassetteError, match=f"pip install {package}$"):
        got(session, "http://a.test")


DONE: Final = "data: [DONE]\n\n"
HELLO: Final = (chunk("Hel"), chunk("lo", "stop"), DONE)
SECRET: Final = "sk-" + "abcdefghij0123456789"

Sent = tuple["ReplyReceived | RequestFailed", list[float]]
"""An event, and when each delta was heard, in seconds since the request."""


def send(tape: Recording, url: str, **settings: Any) -> Sent:  # noqa: ANN401
    heard: list[float] = []
    began = time.monotonic()
    transport = RecordTransport(tape, httpx.HTTPTransport(), limit=LIMIT)
    with HttpEndpoint(
        url, transport=transport, on_delta=lambda _: heard.append(time.monotonic() - began), **settings
    ) as endpoint:
        return endpoint.send(asking(stream=True)), heard


async def asend(tape: Recording, url: str, **settings: Any) -> Sent:  # noqa: ANN401
    heard: list[float] = []
    began = time.monotonic()
    transport = AsyncRecordTransport(tape, httpx.AsyncHTTPTransport(), limit=LIMIT)
    async with AsyncHttpEndpoint(
        url, transport=transport, on_delta=lambda _: heard.append(time.monotonic() - began), **settings
    ) as endpoint:
        return await endpoint.send(asking(stream=True)), heard


def on(backend: str) -> Callable[..., Sent]:
    def sent(tape: Recording, url: str, **settings: Any) -> Sent:  # noqa: ANN401
        def asked() -> Awaitable[Sent]:
            return asend(tape, url, **settings)

        return anyio.run(asked, backend=backend)

    return sent


each = pytest.mark.parametrize("ask", [send, on("asyncio"), on("trio")], ids=["sync", "asyncio", "trio"])


@each
def test_deltas_are_heard_while_they_are_recorded(ask: Callable[..., Sent], tmp_path: Path) -> None:
    answer = streaming(HELLO[0], 0.3, *HELLO[1:], NEVER)
    with serving(answer) as server, recording(tmp_path / "a.yaml") as tape:
        event, (first, second) = ask(tape, server.url)
    assert event == ReplyReceived(1, 200, answer.body.decode())
    assert second - first > 0.2
    with (
        replaying(tmp_path / "a.yaml") as tape,
        HttpEndpoint(server.url, transport=ReplayTransport(tape)) as again,
    ):
        assert again.send(asking(stream=True)) == event


@each
@pytest.mark.parametrize(
    ("answer", "failure", "recorded"),
    [
        (streaming(HELLO[0], *KEPT_ALIVE), "timeout", 1),
        (streaming(*[chunk("x" * 1_000)] * 100), "too_large", 0),
    ],
    ids=["stalls", "is too large"],
)
def test_a_stream_that_is_given_up_is_recorded_as_far_as_it_was_read_unless_it_is_too_large(
    ask: Callable[..., Sent], answer: Answer, failure: str, recorded: int, tmp_path: Path
) -> None:
    with serving(answer) as server, recording(tmp_path / "a.yaml") as tape:
        event, _ = ask(tape, server.url, stall_timeout=STALL)
    assert isinstance(event, RequestFailed)
    assert (event.failure, tape.total) == (failure, recorded)


@each
@pytest.mark.parametrize("sent", [b"<html>", b"\x1f\x8b\x08\0\0\0\0\0"], ids=["is no gzip", "is half a gzip"])
def test_a_stream_that_cannot_be_unpacked_fails_the_same_way_in_a_replay(
    ask: Callable[..., Sent], sent: bytes, tmp_path: Path
) -> None:
    answer = replace(streaming(*HELLO, encoding="gzip"), pieces=(sent,))
    with serving(answer) as server, recording(tmp_path / "a.yaml") as tape:
        event, _ = ask(tape, server.url)
    assert isinstance(event, RequestFailed)
    assert event.failure == "broken"
    with (
        replaying(tmp_path / "a.yaml") as tape,
        HttpEndpoint(server.url, transport=ReplayTransport(tape)) as again,
    ):
        assert again.send(asking(stream=True)) == event


@each
def test_a_stream_in_an_encoding_that_nobody_knows_is_recorded_as_it_came(
    ask: Callable[..., Sent], tmp_path: Path
) -> None:
    answer = replace(
        streaming(*HELLO), headers={"content-type": "text/event-stream", "content-encoding": "compress"}
    )
    with serving(answer) as server, recording(tmp_path / "a.yaml") as tape:
        event, _ = ask(tape, server.url)
    assert isinstance(event, RequestFailed)
    assert (event.failure, tape.total) == ("broken", 1)


def test_a_stream_can_be_read_in_its_cassette(tmp_path: Path) -> None:
    with serving(streaming(*HELLO, encoding="gzip")) as server, recording(tmp_path / "a.yaml") as tape:
        send(tape, server.url)
    text = (tmp_path / "a.yaml").read_text()
    assert "      text: |" in text
    assert f"        {HELLO[0].strip()}\n\n        {HELLO[1].strip()}\n" in text
    assert "content-encoding" not in text


IN_PIECES: Final = (
    *(chunk(SECRET[at : at + 3]) for at in range(0, len(SECRET), 3)),
    chunk(None, "stop"),
    DONE,
)


def test_a_secret_that_comes_in_pieces_is_not_written(tmp_path: Path) -> None:
    body = "".join(IN_PIECES)
    assert SECRET[:9] not in body

    def session() -> None:
        with (
            serving(streaming(*IN_PIECES)) as server,
            recording(tmp_path / "a.yaml", known_secrets={}) as tape,
        ):
            send(tape, server.url)

    said = complaint(SecretFound, session)
    assert "interaction 1: response.body, put together, line 1 holds a secret (API key)" in said
    assert [*tmp_path.iterdir()] == []

    plan = Plan.of(model="m", messages="hi")
    with FileJournal(tmp_path / "a.journal.jsonl", plan) as journal:
        said = complaint(SecretFound, lambda: journal.record(asking(), ReplyReceived(1, 200, body)))
    assert "line 2: not written, it holds API key" in said
    left = (tmp_path / "a.journal.jsonl.part").read_text()
    assert len(left.splitlines()) == 1
    assert json.loads(left)
