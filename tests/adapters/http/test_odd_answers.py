"""Odd answers mean the same to all endpoints, and no bytes of a server raise out of one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.http.ways import Ask, each
from tests.patience import HANG
from tests.servers.chat_server import Answer, asking, serving
from tests.servers.dripping_server import answering
from tests.servers.odd_answers import ODD_ANSWERS, whole
from toolreel_core._protocol import ReplyReceived, RequestFailed


@each
def test_an_odd_answer_means_what_the_table_says(ask: Ask, subtests: pytest.Subtests) -> None:
    answers = [Answer(raw=raw) for raw, _ in ODD_ANSWERS.values()]
    with serving(*answers) as server:
        for odd, (_, meaning) in ODD_ANSWERS.items():
            (event,) = ask(server.url, asking(ref=0), deadline=HANG)
            said = replace(event, message="") if isinstance(event, RequestFailed) else event
            with subtests.test(odd):
                assert said == meaning


NAMES = st.sampled_from(
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
WORDS = st.sampled_from(
    (b"gzip", b"br", b"zstd", b"chunked", b"close", b"8", b"99999999999999999999", b"http://[", b"a:b")
)
HEADERS = st.lists(
    st.tuples(st.one_of(NAMES, st.binary(max_size=4)), st.one_of(st.binary(max_size=12), WORDS)), max_size=4
)
STATUS = st.one_of(
    st.sampled_from((b"200 OK", b"307 Away", b"429 Slow", b"500 Oops", b"101 Up")), st.binary(max_size=6)
)


BODY = st.one_of(st.just(whole()), st.binary(max_size=40))


@each
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(STATUS, HEADERS, BODY, st.booleans()), min_size=5, max_size=5))
def test_no_bytes_of_a_server_raise_out_of_an_endpoint(
    ask: Ask, exchanges: list[tuple[bytes, list[tuple[bytes, bytes]], bytes, bool]]
) -> None:
    answers = [
        whole(status, b"".join(b"%b: %b\r\n" % header for header in headers), body, False)
        for status, headers, body, _ in exchanges
    ]
    left = iter(answers)
    with answering(lambda: next(left, whole())) as url:
        events = ask(url, *(asking(ref=0, stream=stream) for *_, stream in exchanges), deadline=HANG)
    assert {type(event) for event in events} <= {ReplyReceived, RequestFailed}
