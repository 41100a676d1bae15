"""A response as it comes in, by all endpoints: what is shown when, and when a stream is given up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest

from tests.adapters.http.ways import Ask, both
from tests.patience import NEVER
from tests.servers.chat_server import KEPT_ALIVE, STALL, Answer, asking, chunk, replying, serving, streaming
from toolreel.testing import saying
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._replies import Delta

DONE = "data: [DONE]\n\n"
HELLO = (chunk("Hello."), chunk(None, "stop"), DONE)

STREAMED = asking(stream=True)


@both
def test_a_stream_may_take_its_time_as_long_as_it_goes_on(ask: Ask) -> None:
    pieces: list[str | float] = [0.1, chunk("o")] * 15
    with serving(streaming(*pieces, chunk(None, "stop"), DONE)) as server:
        assert isinstance(ask(server.url, STREAMED, stall_timeout=1.2)[0], ReplyReceived)


@both
def test_a_silence_is_no_longer_than_a_stall_where_a_stream_was_asked_for(ask: Ask) -> None:
    with serving(streaming(chunk("Hel"), NEVER)) as server:
        (event,) = ask(server.url, STREAMED, stall_timeout=STALL)
    assert isinstance(event, RequestFailed)
    assert event.failure == "timeout"
    assert event.message.startswith(("ReadTimeout", "timed out"))


@both
def test_what_is_no_stream_is_not_watched(ask: Ask) -> None:
    """Some servers send blanks before a body that takes long."""
    blanks: tuple[str | float, ...] = (" \n", 0.05) * 10
    whole = replying(saying("Hello.")).body.decode()
    with serving(streaming(*blanks, whole, content_type="application/json")) as server:
        (event,) = ask(server.url, stall_timeout=STALL)
    assert event == ReplyReceived(1, 200, " \n" * 10 + whole)


@both
def test_a_letter_that_is_cut_between_two_chunks_is_one_letter(ask: Ask) -> None:
    heard: list[Delta] = []
    text = chunk("größer 🙂").encode()
    pieces = [text[at : at + 1] for at in range(len(text))]
    answer = Answer(headers={"content-type": "text/event-stream"}, pieces=(*pieces, DONE.encode()))
    with serving(answer) as server:
        ask(server.url, STREAMED, on_delta=heard.append)
    assert heard == [Delta("content", "größer 🙂")]


def ticking(*seconds: float) -> Callable[[], float]:
    """A clock that shows these times, and then the last one for ever."""
    times: Iterator[float] = chain(seconds, repeat(seconds[-1]))
    return lambda: next(times)


@both
@pytest.mark.parametrize(("seconds", "stalls"), [(120.0, False), (120.1, True)])
def test_the_watch_goes_by_the_clock_that_it_is_given(ask: Ask, seconds: float, stalls: bool) -> None:
    pieces = (chunk("Hel"), *(0.05, ": alive\n\n") * 6, chunk("lo", "stop"))
    clock = ticking(0.0, 100.0, 100.0 + seconds)
    with serving(streaming(*pieces)) as server:
        (event,) = ask(server.url, STREAMED, now=clock)
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


@both
def test_an_endpoint_goes_on_after_a_stream_that_was_left_open_or_given_up(ask: Ask) -> None:
    answers = (streaming(*HELLO, NEVER), streaming(*KEPT_ALIVE), streaming(*HELLO), replying(saying("Hi.")))
    with serving(*answers) as server:
        kinds = [type(event) for event in ask(server.url, *[STREAMED] * 4, stall_timeout=STALL)]
    assert kinds == [ReplyReceived, RequestFailed, ReplyReceived, ReplyReceived]
