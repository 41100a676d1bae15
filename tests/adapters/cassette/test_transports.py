from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import brotli
import httpx
import pytest
import zstandard

from tests.servers.chat_server import Answer, ChatServer, serving
from tests.servers.chat_server import Seen as Asked
from toolreel._internal import CassetteError
from toolreel.cassette import (
    AsyncRecordTransport,
    AsyncReplayTransport,
    Recording,
    RecordTransport,
    ReplayTransport,
    is_stored,
    recording,
    replaying,
)
from toolreel_core._errors import ReplayMismatch

RUNTIMES = ["asyncio", "trio"]
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
        case "bomb":
            return Answer(gzip.compress(bytes(10_000_000)), headers={"Content-Encoding": "gzip"})
        case _:
            return Answer(body, headers=headers)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(answering=answer) as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cassettes" / "session.yaml"


def seen(response: httpx.Response) -> Seen:
    """What a client gets; of the headers, those that a cassette stores."""
    headers = [
        (name, value.replace("0123456789", "REDACTED"))
        for name, value in response.headers.multi_items()
        if is_stored(name) and name != "content-encoding"
    ]
    return response.status_code, response.reason_phrase, headers, response.content


def turns(count: int, who: str = "me") -> Iterator[bytes]:
    messages = [{"role": "user", "content": f"I am {who}"}]
    for turn in range(count):
        yield json.dumps({"messages": messages}).encode()
        messages = [*messages, {"role": "assistant", "content": str(turn)}]


def session(transport: httpx.BaseTransport, base: str, *, who: str = "me", count: int = 3) -> list[Seen]:
    with httpx.Client(transport=transport, headers={"authorization": f"Bearer {SECRET}"}) as client:
        url = f"{base}/v1/chat/completions"
        return [seen(client.post(url, content=body)) for body in turns(count, who)]


async def asession(transport: httpx.AsyncBaseTransport, base: str, *, who: str = "me") -> list[Seen]:
    async with httpx.AsyncClient(
        transport=transport, headers={"authorization": f"Bearer {SECRET}"}
    ) as client:
        url = f"{base}/v1/chat/completions"
        return [seen(await client.post(url, content=body)) for body in turns(3, who)]


def run(function: Callable[[], Awaitable[list[Seen]]], runtime: str) -> list[Seen]:
    return anyio.run(function, backend=runtime)


def record(path: Path, server: ChatServer) -> list[Seen]:
    with recording(path, known_secrets={}) as tape:
        return session(RecordTransport(tape, httpx.HTTPTransport()), server.url)


def test_a_replay_gives_what_the_recording_gave_on_every_runtime_and_any_base_url(
    path: Path, server: ChatServer
) -> None:
    live = record(path, server)
    assert [code for code, _, _, _ in live] == [200, 200, 200]
    assert live[0][2] == [
        ("content-type", "application/json"),
        ("x-request-id", "r-1"),
        ("set-cookie", "session=REDACTED"),
    ]
    assert live[2][3] == b'{"id": "x", "n": 3}'
    assert len(server.seen) == 3
    with replaying(path) as tape:
        assert session(ReplayTransport(tape), "https://elsewhere.test/some/api") == live
    for runtime in RUNTIMES:
        with replaying(path) as tape:
            transport = AsyncReplayTransport(tape)
            assert run(lambda: asession(transport, "http://elsewhere.test:81"), runtime) == live  # noqa: B023
    assert len(server.seen) == 3


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_async_recording_is_the_same_file(runtime: str, tmp_path: Path, server: ChatServer) -> None:
    live = record(tmp_path / "sync.yaml", server)
    with recording(tmp_path / "async.yaml", known_secrets={}) as tape:
        transport = AsyncRecordTransport(tape, httpx.AsyncHTTPTransport())
        assert run(lambda: asession(transport, server.url), runtime) == live
    assert (tmp_path / "async.yaml").read_text() == (tmp_path / "sync.yaml").read_text()


def test_the_server_gets_the_whole_request_and_the_file_no_secret_of_it(
    path: Path, server: ChatServer
) -> None:
    record(path, server)
    assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert server.seen[0].body == next(turns(1))
    text = path.read_text()
    assert SECRET not in text
    assert "0123456789" not in text
    assert "oise" not in text


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


def test_leaving_a_replay_early_is_an_error_unless_there_is_one_already(
    path: Path, server: ChatServer
) -> None:
    record(path, server)
    with (
        pytest.raises(ReplayMismatch, match="interaction 2 of 3: POST /chat/completions\n"),
        replaying(path) as tape,
    ):
        session(ReplayTransport(tape), server.url, count=1)
    with pytest.raises(ZeroDivisionError), replaying(path):
        _ = 1 / 0


def test_fifty_clients_replay_one_recording_in_threads_and_tasks(path: Path, server: ChatServer) -> None:
    names = [f"client {number}" for number in range(50)]
    with (
        recording(path, known_secrets={}) as tape,
        httpx.HTTPTransport() as network,
        ThreadPoolExecutor(10) as pool,
    ):
        shared = RecordTransport(tape, network)

        def talk(name: str) -> list[Seen]:
            with httpx.Client() as client:
                url = f"{server.url}/v1/chat/completions"
                build = client.build_request
                given = [shared.handle_request(build("POST", url, content=body)) for body in turns(3, name)]
                for response in given:
                    response.read()
                return [seen(response) for response in given]

        live = list(pool.map(talk, names))
    assert tape.total == 150
    with replaying(path) as tape, ThreadPoolExecutor(50) as pool:
        transport = ReplayTransport(tape)
        assert list(pool.map(lambda name: session(transport, server.url, who=name), names)) == live
    for runtime in RUNTIMES:
        with replaying(path) as tape:
            anyio.run(_talk_at_once, tape, names, live, backend=runtime)


async def _talk_at_once(tape: Recording, names: list[str], live: list[list[Seen]]) -> None:
    results: dict[str, list[Seen]] = {}

    async def talk(name: str) -> None:
        await anyio.sleep(0)
        results[name] = await asession(AsyncReplayTransport(tape), "http://a.test", who=name)

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(talk, name)
    assert [results[name] for name in names] == live


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
