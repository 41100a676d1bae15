from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel._internal.errors import EndpointConfigError
from toolreel.http._bounded_decoder import ACCEPT_ENCODING, Stalled, TooLarge, UndecodableBody
from toolreel.http._exchange import (
    Address,
    answered,
    blocks,
    broken,
    chat_url,
    request_headers,
    retry_after_ms,
)
from toolreel.http._httpx_conversion import lost, while_streaming
from toolreel_core._protocol.events import ReplyReceived, RequestFailed
from toolreel_core._protocol.outcome import FailureKind

KEY = "not-a-real-key-4711"


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
        ("https://api.test/openai/v1", "https://api.test/openai/v1/chat/completions"),
        ("https://api.test/v1beta/openai/", "https://api.test/v1beta/openai/chat/completions"),
        ("https://api.test/api/v4", "https://api.test/api/v4/chat/completions"),
        ("https://api.test/vision", "https://api.test/vision/v1/chat/completions"),
        ("https://api.test/chat/completions", "https://api.test/chat/completions"),
        ("https://api.test/v1/chat/completions/", "https://api.test/v1/chat/completions"),
        ("https://api.test/v1?api-version=3", "https://api.test/v1/chat/completions?api-version=3"),
        ("https://api.test?to=a@b", "https://api.test/v1/chat/completions?to=a@b"),
        ("https://api.test/v1#part", "https://api.test/v1/chat/completions"),
        ("https://api.test/models/m@2/v1", "https://api.test/models/m@2/v1/chat/completions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
        ("  http://localhost/v1 \n", "http://localhost/v1/chat/completions"),
    ],
)
def test_chat_completions_are_found_under_a_base_url(base_url: str, url: str) -> None:
    assert chat_url(base_url) == url


@pytest.mark.parametrize(
    "base_url", ["", "127.0.0.1:8080", "localhost/v1", "/v1", "ftp://api.test", "http://", "http://:80/v1"]
)
def test_what_is_no_base_url_is_refused_with_an_example(base_url: str) -> None:
    assert complaint(EndpointConfigError, lambda: chat_url(base_url)) == (
        f"base URL {base_url!r}: expected http:// or https:// and a host, such as http://127.0.0.1:8080/v1"
    )


@pytest.mark.parametrize(
    ("base_url", "why"),
    [
        ("http://[::1/v1", "Invalid IPv6 URL"),
        ("http://host:eighty/v1", "Port could not be cast to integer value as 'eighty'"),
        ("http://host:99999/v1", "Port out of range 0-65535"),
        ("http://host/\x7f", "it contains a space or a non-printable character"),
    ],
)
def test_a_broken_base_url_is_refused_before_anything_is_sent(base_url: str, why: str) -> None:
    assert complaint(EndpointConfigError, lambda: chat_url(base_url)) == f"base URL {base_url!r}: {why}"


@pytest.mark.parametrize(
    "base_url",
    [
        "https://me:s3cret@api.test/v1",
        "ftp://me:s3cret@api.test",
        "me:s3cret@api.test/v1",
        "//s3cret@api.test",
    ],
)
def test_user_and_password_are_refused_and_not_repeated(base_url: str) -> None:
    assert complaint(EndpointConfigError, lambda: chat_url(base_url)) == (
        "base URL: leave user and password out of it; name the variable of an API key instead"
    )


def test_without_a_key_no_authorization_is_sent() -> None:
    assert request_headers(None, {"API_KEY": KEY}) == {
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": ACCEPT_ENCODING,
        "user-agent": "toolreel",
    }


def test_the_key_is_sent_as_a_bearer_token_without_the_space_around_it() -> None:
    assert request_headers("API_KEY", {"API_KEY": f" {KEY}\n"})["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("environ", [{}, {"API_KEY": ""}, {"API_KEY": " \n"}, {"api_key": KEY}])
def test_a_missing_key_is_named_by_its_variable(environ: dict[str, str]) -> None:
    assert complaint(EndpointConfigError, lambda: request_headers("API_KEY", environ)) == (
        "the environment variable API_KEY is not set; put the API key into it"
    )


@pytest.mark.parametrize("key", [f"{KEY}\nsecond line", f"{KEY}\0", f"“{KEY}”"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    told = complaint(EndpointConfigError, lambda: request_headers("API_KEY", {"API_KEY": key}))
    assert told.startswith("the environment variable API_KEY contains a line break or another character")
    assert KEY not in told


def test_the_key_is_not_in_the_address_that_is_shown() -> None:
    address = Address.of("http://localhost", "API_KEY", {"API_KEY": KEY})
    assert repr(address) == "Address(url='http://localhost/v1/chat/completions')"


@pytest.mark.parametrize("status", [200, 201, 299])
def test_a_success_is_a_reply_whatever_its_body_holds(status: int) -> None:
    assert answered(4, status, {}, b"<html>") == ReplyReceived(4, status, "<html>")


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert answered(1, 200, {}, b"caf\xe9") == ReplyReceived(1, 200, "caf\ufffd")


@pytest.mark.parametrize("status", [100, 199, 300, 404, 500])
def test_any_other_status_is_a_failure(status: int) -> None:
    assert answered(4, status, {}, b"why") == RequestFailed(4, "status", f"HTTP {status}: why", status, "why")


@pytest.mark.parametrize(
    "body", ['{"error":{"message":"%s"}}', '{"error":"%s"}', '{"message":"%s"}', '{"detail":"%s"}', "%s"]
)
def test_a_long_complaint_is_cut_in_the_message_and_whole_in_the_body(body: str) -> None:
    text = body % ("x" * 1_000)
    event = answered(1, 500, {}, text.encode())
    assert event == RequestFailed(1, "status", f"HTTP 500: {'x' * 300}", 500, text)


@pytest.mark.parametrize(
    "body", ['{"error":{"message":7}}', '{"detail":[{"msg":"too short"}]}', "[1]", "null"]
)
def test_a_complaint_in_an_unknown_shape_is_shown_as_it_is(body: str) -> None:
    assert answered(1, 422, {}, body.encode()) == RequestFailed(1, "status", f"HTTP 422: {body}", 422, body)


def test_a_body_that_was_not_taken_in_keeps_its_status() -> None:
    assert broken(1, 200, TooLarge("too much")) == RequestFailed(1, "too_large", "too much", 200)
    assert broken(1, 200, Stalled("no word")) == RequestFailed(1, "timeout", "no word", 200)
    assert broken(1, 502, UndecodableBody("corrupt")) == RequestFailed(1, "broken", "corrupt", 502)


@pytest.mark.parametrize(
    ("error", "failure", "message"),
    [
        (httpx.ConnectError("refused"), "connect", "ConnectError: refused"),
        (httpx.ConnectTimeout("slow"), "connect", "ConnectTimeout: slow"),
        (httpx.ReadTimeout("slow"), "timeout", "ReadTimeout: slow"),
        (httpx.WriteTimeout("slow"), "timeout", "WriteTimeout: slow"),
        (httpx.PoolTimeout(""), "timeout", "PoolTimeout"),
        (httpx.ReadError(""), "broken", "ReadError"),
        (httpx.RemoteProtocolError("no HTTP"), "broken", "RemoteProtocolError: no HTTP"),
        (httpx.ProxyError("502"), "broken", "ProxyError: 502"),
    ],
)
def test_an_exchange_that_was_given_up_says_of_what_kind(
    error: httpx.HTTPError, failure: FailureKind, message: str
) -> None:
    assert lost(9, error) == RequestFailed(9, failure, message)


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({"retry-after": "3"}, 3_000),
        ({"retry-after": " 0.25 "}, 250),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 10_000),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:10 GMT"}, 0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "1 Jan 99999999999999999999 00:00:00 GMT", "date": "1 Jan 2026 00:00:00 GMT"}, None),
        ({}, None),
    ],
)
def test_a_server_may_ask_to_be_left_alone(headers: dict[str, str], ms: int | None) -> None:
    assert retry_after_ms(headers) == ms


NUMBERS = st.one_of(st.integers(-1, 70), st.integers(), st.integers(10**12, 10**24)).map(str)
DATES = st.builds(
    "{} {} {} {}:{}:{} {}".format,
    NUMBERS,
    st.sampled_from(["Jan", "Feb", "Dec", "13", ""]),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.one_of(st.sampled_from(["GMT", "+9999", "-0000", ""]), NUMBERS),
)
VALUES = st.one_of(st.text(), st.binary().map(lambda value: value.decode("latin-1")), NUMBERS, DATES)


@given(st.fixed_dictionaries({"retry-after": VALUES, "date": VALUES}))
def test_no_header_raises(headers: dict[str, str]) -> None:
    ms = retry_after_ms(headers)
    assert ms is None or ms >= 0
    failed = answered(1, 429, headers, b"slow down")
    assert failed == RequestFailed(1, "status", "HTTP 429: slow down", 429, "slow down", ms)


@pytest.mark.parametrize(("read", "patience"), [(None, 120.0), (300.0, 120.0), (5.0, 5.0)])
def test_a_silence_in_a_stream_is_no_longer_than_a_stall(read: float | None, patience: float) -> None:
    timeout = httpx.Timeout(30.0, read=read)
    assert while_streaming(timeout, 120.0) == httpx.Timeout(30.0, read=patience)


@given(st.lists(st.integers(0, 200_000), max_size=6))
def test_a_long_body_goes_out_in_blocks_and_is_never_put_together(sizes: list[int]) -> None:
    pieces = tuple(bytes([place]) * size for place, size in enumerate(sizes))
    sent = [*blocks(pieces)]
    assert b"".join(sent) == b"".join(pieces)
    assert all(len(block) < 131_072 + max(sizes) for block in sent)
    assert all(len(block) >= 131_072 for block in sent[:-1])
