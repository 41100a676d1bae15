"""Streams that a client leaves before their end: recorded as far as they were read, and replayed as far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import openai
import pytest

from tests.patience import NEVER
from tests.servers.chat_server import Answer, chunk, replying, serving, streaming
from toolreel.cassette import Session, use_cassette
from toolreel.testing import saying
from toolreel_core._errors import ReplayMismatch

WORDS = ("Hel", "lo", " there")
FOREVER = streaming(*map(chunk, WORDS), NEVER)
"""A stream that falls silent after three words."""
WHOLE = streaming(
    *(part for word in WORDS for part in (chunk(word), 0.05)), chunk(finish="stop"), 0.05, "data: [DONE]\n\n"
)
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
PATIENCE = 0.5
"""Seconds after which a client gives up; a server on this machine answers in a hundredth."""


def sdk(session: Session, url: str) -> openai.OpenAI:
    client = httpx2.Client(transport=session.httpx2_transport())
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", http_client=client, max_retries=0)


def chunks_of_sdk(client: openai.OpenAI) -> Any:  # noqa: ANN401 - a stream of the SDK
    messages: Any = ASKED["messages"]
    return client.chat.completions.create(model="m", messages=messages, stream=True)


def to_the_finish_reason(session: Session, url: str) -> str:
    """As many programs do; the stream itself is neither closed nor let go."""
    text = ""
    KEPT.append(chunks_of_sdk(sdk(session, url)))
    for one in KEPT[-1]:
        text += one.choices[0].delta.content or ""
        if one.choices[0].finish_reason:
            break
    return text


KEPT: list[Any] = []


def first_token(session: Session, url: str) -> str:
    with sdk(session, url) as client, chunks_of_sdk(client) as stream:
        return str(next(iter(stream)).choices[0].delta.content)


def first_token_async(session: Session, url: str) -> str:
    async def asked() -> str:
        async with httpx2.AsyncClient(transport=session.async_httpx2_transport()) as http:
            client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", http_client=http, max_retries=0)
            messages: Any = ASKED["messages"]
            stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
            async for one in stream:
                return str(one.choices[0].delta.content)
        raise AssertionError("no token")

    return asyncio.run(asked())


def within(backend: str, scope: Callable[[float], Any]) -> Callable[[Session, str], str]:
    """Reads a stream with a timeout around it."""

    async def asked(session: Session, url: str) -> str:
        heard = ""
        async with httpx.AsyncClient(transport=session.async_transport(), timeout=60) as client:
            try:
                with scope(PATIENCE):
                    async with client.stream("POST", f"{url}/v1/chat/completions", json=ASKED) as response:
                        async for line in response.aiter_lines():
                            heard += line
            except TimeoutError:
                heard += " too late"
        return heard

    return lambda session, url: anyio.run(asked, session, url, backend=backend)


def by_asyncio(session: Session, url: str) -> str:
    async def asked() -> str:
        async with httpx.AsyncClient(transport=session.async_transport(), timeout=60) as client:
            with suppress(TimeoutError):
                await asyncio.wait_for(client.post(f"{url}/v1/chat/completions", json=ASKED), PATIENCE)
                return "answered"
            return "too late"

    return asyncio.run(asked())


def post(session: Session, url: str) -> str:
    with httpx.Client(transport=session.transport(), timeout=60) as client:
        return client.post(f"{url}/v1/chat/completions", json=ASKED).text


@pytest.fixture
def in_a_thread() -> Generator[Callable[[Session, str], str]]:
    """A thread that nobody waits for before the session is over."""
    with ThreadPoolExecutor() as pool:

        def asked(session: Session, url: str) -> str:
            try:
                return pool.submit(post, session, url).result(PATIENCE)
            except TimeoutError:
                return "too late"

        yield asked


SILENT = Answer(delay=NEVER)
WAYS: dict[str, tuple[Callable[[Session, str], str], Answer]] = {
    "to the finish reason": (to_the_finish_reason, WHOLE),
    "first token": (first_token, FOREVER),
    "first token of a packed stream": (first_token, streaming(*map(chunk, WORDS), NEVER, encoding="gzip")),
    "first token, async": (first_token_async, FOREVER),
    "move_on_after, asyncio": (within("asyncio", anyio.move_on_after), FOREVER),
    "fail_after, trio": (within("trio", anyio.fail_after), FOREVER),
    "before the head, asyncio": (within("asyncio", anyio.fail_after), SILENT),
    "before the head, trio": (within("trio", anyio.move_on_after), SILENT),
    "wait_for": (by_asyncio, FOREVER),
    "a body that is no stream": (
        by_asyncio,
        streaming('{"choices":', NEVER, content_type="application/json"),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_read_is_recorded_and_replayed(way: str, path: Path) -> None:
    asks, answer = WAYS[way]
    with serving(answer) as server:
        with use_cassette(path, "auto") as session:
            live = asks(session, server.url)
        with use_cassette(path, "auto") as session:
            assert session.replays
            assert asks(session, server.url) == live


def test_a_thread_that_nobody_waits_for_waits_in_the_replay_too(
    path: Path, in_a_thread: Callable[[Session, str], str]
) -> None:
    with serving(SILENT) as server, use_cassette(path, "record") as session:
        assert in_a_thread(session, server.url) == "too late"
    with use_cassette(path) as session:
        assert in_a_thread(session, "http://a.test") == "too late"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_slower_of_two_requests_is_cancelled_in_the_replay_too(backend: str, path: Path) -> None:
    async def hedged(session: Session, url: str) -> list[str]:
        heard = list[str]()

        async def ask(name: str) -> None:
            body = {"model": name, "messages": []}
            response = await client.post(f"{url}/v1/chat/completions", json=body)
            heard.append(response.text)
            group.cancel_scope.cancel()

        async with (
            httpx.AsyncClient(transport=session.async_transport()) as client,
            anyio.create_task_group() as group,
        ):
            group.start_soon(ask, "slow")
            await anyio.sleep(0.1)
            group.start_soon(ask, "fast")
        return heard

    with serving(SILENT, replying(saying("fast"))) as server, use_cassette(path, "record") as session:
        live = anyio.run(hedged, session, server.url, backend=backend)
    with use_cassette(path) as session:
        assert anyio.run(hedged, session, "http://a.test", backend=backend) == live


def test_the_file_says_how_far_a_client_has_read(path: Path) -> None:
    with serving(FOREVER, SILENT) as server, use_cassette(path, "record") as session:
        first_token(session, server.url)
        within("asyncio", anyio.move_on_after)(session, server.url)
    text = path.read_text()
    assert "kind: ClosedByClient" in text
    assert "kind: CancelledByClient" in text


def test_a_client_that_reads_on_gets_no_more_and_the_log_says_so(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        serving(streaming(chunk("Hel"), 0.5, chunk("lo"), NEVER)) as server,
        use_cassette(path, "record") as session,
    ):
        assert first_token(session, server.url) == "Hel"
    with use_cassette(path) as session, sdk(session, "http://a.test") as client:
        assert [one.choices[0].delta.content for one in chunks_of_sdk(client)] == ["Hel"]
    assert f"read_past_the_recording path={path}" in caplog.text


def test_a_client_that_is_no_longer_cancelled_is_told(path: Path) -> None:
    with serving(FOREVER) as server, use_cassette(path, "record") as session:
        within("asyncio", anyio.move_on_after)(session, server.url)
    with (
        use_cassette(path) as session,
        httpx.Client(transport=session.transport(), timeout=0.1) as client,
        pytest.raises(ReplayMismatch, match="the recorded client was cancelled while it waited here"),
    ):
        client.post("http://a.test/v1/chat/completions", json=ASKED)
