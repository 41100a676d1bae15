"""What a recorded response is for the client that replays it: encodings, events, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.servers.chat_server import LIMIT, bomb, chunk, serving, streaming
from toolreel.cassette import CassetteTransport, Session, StoredResponse, replay_response, use_cassette
from toolreel.http import TooLarge

EVENTS = (chunk("Hel"), ": alive\n\n", chunk("lo", "stop"), "data: [DONE]\n\n")

each_encoding = pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br", "zstd"])


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
    stream = replay_response(stored, path, httpx.Request("GET", "http://a.test")).stream
    assert isinstance(stream, httpx.SyncByteStream)
    assert [*stream] == [f"data: 1{end}{end}".encode(), f"data: 2{end}{end}".encode(), b"data: 3"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_a_bomb_is_not_recorded(encoding: str, path: Path) -> None:
    with serving(bomb(64, encoding)) as server, use_cassette(path, "record") as session:
        transport = CassetteTransport(session, httpx.HTTPTransport(), limit=LIMIT)
        with httpx.Client(transport=transport) as client, pytest.raises(TooLarge):
            client.post(server.url, json={})
    assert not path.exists()
