from __future__ import annotations

import tracemalloc
from pathlib import Path

import anyio
import httpx
import pytest

from tests.patience import NEVER, eventually_async
from tests.samples import complaint
from tests.servers.chat_server import (
    FAR_SIDES,
    LIMIT,
    STALL,
    Answer,
    FarSide,
    asking,
    bomb,
    nobody_listens,
    packed,
    replying,
    serving,
)
from toolreel._internal import EndpointConfigError
from toolreel.cassette import AsyncRecordTransport, recording
from toolreel.http import AsyncHttpEndpoint
from toolreel.testing import saying
from toolreel_core._protocol import ReplyReceived, RequestFailed

KEY = "not-a-real-key-4711"


@pytest.mark.anyio
async def test_a_request_is_posted_with_the_key_as_a_bearer_token() -> None:
    with serving(replying(saying("hello"))) as server:
        async with AsyncHttpEndpoint(server.url, api_key_env="API_KEY", environ={"API_KEY": KEY}) as endpoint:
            event = await endpoint.send(asking())
            assert KEY not in f"{endpoint!r} {endpoint.address!r} {event!r}"
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.body == b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.anyio
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw"])
async def test_a_packed_reply_is_unpacked(encoding: str) -> None:
    with serving(packed(b'{"ok":1}', encoding)) as server:
        async with AsyncHttpEndpoint(server.url) as endpoint:
            assert await endpoint.send(asking()) == ReplyReceived(1, 200, '{"ok":1}')


@pytest.mark.anyio
@pytest.mark.parametrize("far_side", FAR_SIDES.values(), ids=FAR_SIDES)
async def test_whatever_the_far_side_does_is_an_event(far_side: FarSide) -> None:
    patience = httpx.Timeout(5, read=0.05 if far_side.answer.delay else 5)
    with serving(far_side.answer) as server:
        async with AsyncHttpEndpoint(
            server.url, timeout=patience, max_response_bytes=LIMIT, stall_timeout=STALL
        ) as endpoint:
            event = await endpoint.send(asking(ref=7))
    assert event == far_side.failed(7, event)


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_an_event() -> None:
    with nobody_listens() as url:
        async with AsyncHttpEndpoint(url) as endpoint:
            event = await endpoint.send(asking())
    assert isinstance(event, RequestFailed)
    assert event.failure == "connect"


@pytest.mark.anyio
async def test_after_a_failure_the_endpoint_goes_on() -> None:
    answers = [Answer(raw=b""), Answer(bytes(LIMIT + 1)), replying(saying("hello"))]
    with serving(*answers) as server:
        async with AsyncHttpEndpoint(server.url, max_response_bytes=LIMIT) as endpoint:
            events = [await endpoint.send(asking(ref=ref)) for ref in (1, 2, 3)]
    assert [type(event) for event in events] == [RequestFailed, RequestFailed, ReplyReceived]


@pytest.mark.anyio
@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
async def test_a_gibibyte_in_a_mebibyte_is_given_up_before_it_is_in_memory(encoding: str) -> None:
    cap = 4 * 1024 * 1024
    with serving(bomb(1024, encoding)) as server:
        async with AsyncHttpEndpoint(server.url, max_response_bytes=cap) as endpoint:
            tracemalloc.start()
            try:
                event = await endpoint.send(asking())
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    assert isinstance(event, RequestFailed)
    assert event.failure == "too_large"
    assert peak < 4 * cap


@pytest.mark.anyio
async def test_waiting_for_one_server_holds_up_nobody_else() -> None:
    events: list[str] = []

    async def ask(url: str, name: str) -> None:
        async with AsyncHttpEndpoint(url) as endpoint:
            await endpoint.send(asking())
        events.append(name)

    with serving(Answer(delay=NEVER)) as one, serving(Answer(b"{}")) as other:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, one.url, "slow")
            await eventually_async(lambda: one.seen, "a request that the slow server has read")
            await ask(other.url, "fast")
            tasks.cancel_scope.cancel()
    assert events == ["fast"]


@pytest.mark.anyio
async def test_a_cancelled_request_is_no_event() -> None:
    with serving(Answer(delay=NEVER)) as server:
        async with AsyncHttpEndpoint(server.url) as endpoint:
            with anyio.move_on_after(0.1) as scope:
                await endpoint.send(asking())
    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_a_body_that_is_too_large_to_record_is_an_event(tmp_path: Path) -> None:
    with serving(Answer(bytes(LIMIT + 1))) as server, recording(tmp_path / "a.yaml") as tape:
        transport = AsyncRecordTransport(tape, httpx.AsyncHTTPTransport(), limit=LIMIT)
        async with AsyncHttpEndpoint(server.url, transport=transport) as endpoint:
            event = await endpoint.send(asking())
    assert isinstance(event, RequestFailed)
    assert (event.failure, event.status) == ("too_large", None)
    assert tape.total == 0


@pytest.mark.anyio
async def test_what_a_transport_raises_besides_http_errors_is_not_for_the_model() -> None:
    def stale(request: httpx.Request) -> httpx.Response:
        raise LookupError(f"nothing was recorded for {request.url}")

    async with AsyncHttpEndpoint("http://127.0.0.1", transport=httpx.MockTransport(stale)) as endpoint:
        with pytest.raises(LookupError, match="nothing was recorded"):
            await endpoint.send(asking())


def test_a_missing_key_is_found_before_anything_is_sent() -> None:
    assert complaint(
        EndpointConfigError, lambda: AsyncHttpEndpoint("http://127.0.0.1", api_key_env="API_KEY", environ={})
    ) == ("the environment variable API_KEY is not set; put the API key into it")
