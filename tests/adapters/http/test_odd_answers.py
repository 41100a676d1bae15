"""Odd answers mean the same to all endpoints, and no bytes of a server raise out of one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.patience import HANG
from tests.servers.chat_server import Answer, asking, serving
from tests.servers.dripping_server import answering
from tests.servers.odd_answers import ODD_ANSWERS, whole
from toolreel.http import AsyncHttpEndpoint, HttpEndpoint
from toolreel_core._protocol import ReplyReceived, RequestFailed

Said: TypeAlias = ReplyReceived | RequestFailed
Send: TypeAlias = Callable[[bool], Said]
Opened: TypeAlias = Callable[[str], AbstractContextManager[Send]]


@contextmanager
def sync(url: str) -> Generator[Send]:
    with HttpEndpoint(url, deadline=HANG) as endpoint:
        yield lambda stream: endpoint.send(asking(ref=0, stream=stream))


def on(backend: str) -> Opened:
    @contextmanager
    def opened(url: str) -> Generator[Send]:
        with start_blocking_portal(backend) as portal:
            endpoint = portal.call(lambda: AsyncHttpEndpoint(url, deadline=HANG))
            with portal.wrap_async_context_manager(endpoint):
                yield lambda stream: portal.call(endpoint.send, asking(ref=0, stream=stream))

    return opened


WAYS: Final[dict[str, Opened]] = {
    "sync": sync,
    "asyncio": on("asyncio"),
    "trio": on("trio"),
}
each = pytest.mark.parametrize("way", WAYS)


@each
def test_an_odd_answer_means_what_the_table_says(way: str, subtests: pytest.Subtests) -> None:
    answers = [Answer(raw=raw) for raw, _ in ODD_ANSWERS.values()]
    with serving(*answers) as server:
        for odd, (_, meaning) in ODD_ANSWERS.items():
            with WAYS[way](server.url) as send:
                event = send(False)
            said = replace(event, message="") if isinstance(event, RequestFailed) else event
            with subtests.test(odd):
                assert said == meaning


NAMES: Final = st.sampled_from(
    (
        b"content-encoding",
        b"content-type",
        b"content-length",
        b"transfer-encoding",
        b"connection",
        b"date",
        b"location",
        b"retry-after",
        b"set-cookie",
        b"upgrade",
        b"x",
    )
)
WORDS: Final = st.sampled_from(
    (b"gzip", b"br", b"zstd", b"chunked", b"close", b"8", b"99999999999999999999", b"http://[", b"a:b")
)
HEADERS: Final = st.lists(
    st.tuples(st.one_of(NAMES, st.binary(max_size=4)), st.one_of(st.binary(max_size=12), WORDS)), max_size=4
)
STATUS: Final = st.one_of(
    st.sampled_from((b"200 OK", b"307 Away", b"429 Slow", b"500 Oops", b"101 Up")), st.binary(max_size=6)
)


@each
def test_no_bytes_of_a_server_raise_out_of_an_endpoint(way: str) -> None:
    now: list[bytes] = []

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(STATUS, HEADERS, st.one_of(st.just(whole()), st.binary(max_size=40)), st.booleans())
    def holds(status: bytes, headers: list[tuple[bytes, bytes]], body: bytes, stream: bool) -> None:
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        now[:] = [whole(status, lines, body, False)]
        assert isinstance(send(stream), ReplyReceived | RequestFailed)

    with answering(lambda: now[0]) as url, WAYS[way](url) as send:
        holds()
