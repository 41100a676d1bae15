"""A response as it comes in, by all endpoints: what is shown when, and when a stream is given up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any, Final

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patience import NEVER, eventually_async
from tests.servers.chat_server import (
    KEPT_ALIVE,
    STALL,
    Answer,
    ChatServer,
    asking,
    chunk,
    replying,
    serving,
    streaming,
)
from toolreel._driver import Listener
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel.testing import saying
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._replies import Delta, Stream

DONE: Final = "data: [DONE]\n\n"
HELLO: Final = (chunk("Hello."), chunk(None, "stop"), DONE)
SLOW: Final = (0.15, chunk("Hel"), 0.15, chunk("lo"), 0.15, chunk(None, "stop"), 0.15, DONE)

Sending = Callable[..., "ReplyReceived | RequestFailed"]


def send(
    server: ChatServer,
    *,
    streamed: bool = True,
    **settings: Any,  # noqa: ANN401
) -> ReplyReceived | RequestFailed:
    with HttpEndpoint(server.url, **settings) as endpoint:
        return endpoint.send(asking(stream=streamed))


def asending(backend: str) -> Sending:
    def asend(
        server: ChatServer,
        *,
        streamed: bool = True,
        **settings: Any,  # noqa: ANN401
    ) -> ReplyReceived | RequestFailed:
        async def conversation() -> ReplyReceived | RequestFailed:
            async with AsyncHttpEndpoint(server.url, **settings) as endpoint:
                return await endpoint.send(asking(stream=streamed))

        return anyio.run(conversation, backend=backend)

    return asend


WAYS: Final = {
    "sync": send,
    "asyncio": asending("asyncio"),
    "trio": asending("trio"),
}
each = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)


@each
def test_deltas_are_shown_when_they_come(ask: Sending) -> None:
    heard: list[tuple[float, str]] = []

    def hear(delta: Delta) -> None:
        heard.append((time.monotonic() - began, delta.text))

    with serving(streaming(*SLOW)) as server:
        began = time.monotonic()
        ask(server, on_delta=hear)
    (first, _), (second, _) = heard
    assert [text for _, text in heard] == ["Hel", "lo"]
    assert second - first > 0.1


@each
def test_a_stream_may_take_its_time_as_long_as_it_goes_on(ask: Sending) -> None:
    pieces: list[str | float] = [0.1, chunk("o")] * 15
    with serving(streaming(*pieces, chunk(None, "stop"), DONE)) as server:
        assert isinstance(ask(server, stall_timeout=1.2), ReplyReceived)


@each
def test_a_silence_is_no_longer_than_a_stall_where_a_stream_was_asked_for(ask: Sending) -> None:
    with serving(streaming(chunk("Hel"), NEVER)) as server:
        event = ask(server, stall_timeout=STALL)
    assert isinstance(event, RequestFailed)
    assert event.failure == "timeout"
    assert event.message.startswith(("ReadTimeout", "timed out"))


@each
def test_what_is_no_stream_is_not_watched(ask: Sending) -> None:
    """Some servers send blanks before a body that takes long."""
    blanks: tuple[str | float, ...] = (" \n", 0.05) * 10
    whole = replying(saying("Hello.")).body.decode()
    with serving(streaming(*blanks, whole, content_type="application/json")) as server:
        event = ask(server, streamed=False, stall_timeout=STALL)
    assert event == ReplyReceived(1, 200, " \n" * 10 + whole)


@each
def test_json_that_is_called_a_stream_is_read_as_what_it_is(ask: Sending) -> None:
    heard: list[Delta] = []
    whole = replying(saying("Hello.")).body.decode()
    pieces = [*whole[:5], 0.3, whole[5:]]
    with serving(streaming(*pieces)) as server:
        assert ask(server, stall_timeout=STALL, on_delta=heard.append, streamed=False) == ReplyReceived(
            1, 200, whole
        )
    assert heard == []


@each
def test_a_letter_that_is_cut_between_two_chunks_is_one_letter(ask: Sending) -> None:
    heard: list[Delta] = []
    text = chunk("größer 🙂").encode()
    pieces = [text[at : at + 1] for at in range(len(text))]
    answer = Answer(headers={"content-type": "text/event-stream"}, pieces=(*pieces, DONE.encode()))
    with serving(answer) as server:
        ask(server, on_delta=heard.append)
    assert heard == [Delta("content", "größer 🙂")]


@each
def test_a_listener_that_fails_does_not_disturb_the_request(ask: Sending) -> None:
    def faint(delta: Delta) -> None:
        raise ValueError(delta.text)

    with serving(streaming(*HELLO)) as server, pytest.warns(RuntimeWarning, match="failed on Delta"):
        assert isinstance(ask(server, on_delta=faint), ReplyReceived)


def ticking(*seconds: float) -> Callable[[], float]:
    """A clock that shows these times, and then the last one for ever."""
    times: Iterator[float] = chain(seconds, repeat(seconds[-1]))
    return lambda: next(times)


@each
@pytest.mark.parametrize(("seconds", "stalls"), [(120.0, False), (120.1, True)])
def test_the_watch_goes_by_the_clock_that_it_is_given(ask: Sending, seconds: float, stalls: bool) -> None:
    pieces = (chunk("Hel"), *(0.05, ": alive\n\n") * 6, chunk("lo", "stop"))
    clock = ticking(0.0, 100.0, 100.0 + seconds)
    with serving(streaming(*pieces)) as server:
        event = ask(server, now=clock)
    if stalls:
        assert event == RequestFailed(
            1,
            "timeout",
            "no meaningful data for 120 s, though the connection was alive; "
            "a longer stall_timeout gives the model more time",
            200,
        )
    else:
        assert isinstance(event, ReplyReceived)


def test_an_endpoint_goes_on_after_a_stream_that_was_left_open_or_given_up() -> None:
    answers = (streaming(*HELLO, NEVER), streaming(*KEPT_ALIVE), streaming(*HELLO), replying(saying("Hi.")))
    with serving(*answers) as server, HttpEndpoint(server.url, stall_timeout=STALL) as endpoint:
        kinds = [type(endpoint.send(asking(stream=True))) for _ in answers]
    assert kinds == [ReplyReceived, RequestFailed, ReplyReceived, ReplyReceived]


@pytest.mark.anyio
async def test_an_async_endpoint_goes_on_as_well() -> None:
    answers = (streaming(*HELLO, NEVER), streaming(*KEPT_ALIVE), streaming(*HELLO), replying(saying("Hi.")))
    with serving(*answers) as server:
        async with AsyncHttpEndpoint(server.url, stall_timeout=STALL) as endpoint:
            kinds = [type(await endpoint.send(asking(stream=True))) for _ in answers]
    assert kinds == [ReplyReceived, RequestFailed, ReplyReceived, ReplyReceived]


@pytest.mark.anyio
async def test_a_request_that_is_cancelled_in_mid_stream_is_no_event() -> None:
    heard: list[Delta] = []
    hear: Listener = heard.append
    said: list[ReplyReceived | RequestFailed] = []

    async def ask(endpoint: AsyncHttpEndpoint) -> None:
        said.append(await endpoint.send(asking(stream=True)))

    with serving(streaming(chunk("Hel"), NEVER)) as server:
        async with (
            AsyncHttpEndpoint(server.url, on_delta=hear) as endpoint,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(ask, endpoint)
            await eventually_async(lambda: heard, "the first piece of the stream")
            tasks.cancel_scope.cancel()
    assert said == []
    assert heard == [Delta("content", "Hel")]


@given(st.lists(st.text(), max_size=5))
def test_what_begins_as_a_json_object_is_no_stream_whatever_follows(pieces: list[str]) -> None:
    """So nobody has to listen to it."""
    stream, heard = Stream().feed("{" + "".join(pieces[:1]))
    for piece in pieces[1:]:
        stream, more = stream.feed(piece)
        heard += more
    assert (stream.streamed, stream.done, stream.progress, heard) == (False, False, 0, ())
