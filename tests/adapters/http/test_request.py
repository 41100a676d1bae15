from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel._internal import EndpointConfigError
from toolreel.http import ACCEPT_ENCODING, checked_chat_url, request_headers

KEY = "not-a-real-key-4711"


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
        ("https://api.test/v1beta/openai/", "https://api.test/v1beta/openai/chat/completions"),
        ("https://api.test/api/v4", "https://api.test/api/v4/chat/completions"),
        ("https://api.test/vision", "https://api.test/vision/v1/chat/completions"),
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
    assert checked_chat_url(base_url) == url


@pytest.mark.parametrize(
    "base_url", ["", "127.0.0.1:8080", "localhost/v1", "/v1", "ftp://api.test", "http://", "http://:80/v1"]
)
def test_what_is_no_base_url_is_refused_with_an_example(base_url: str) -> None:
    assert complaint(EndpointConfigError, lambda: checked_chat_url(base_url)) == (
        f"base URL {base_url!r}: expected http:// or https:// and a host, such as http://127.0.0.1:8080/v1"
    )


@pytest.mark.parametrize(
    ("base_url", "why"),
    [
        ("http://[::1/v1", "Invalid IPv6 URL"),
        ("http://host:eighty/v1", "Port could not be cast to integer value as 'eighty'"),
        ("http://host:99999/v1", "Port out of range 0-65535"),
        ("http://a..b/v1", "the host 'a..b' has an empty part, or one of more than 63 characters"),
        ("http://host/\x7f", "it contains a space or a non-printable character"),
    ],
)
def test_a_broken_base_url_is_refused_before_anything_is_sent(base_url: str, why: str) -> None:
    assert (
        complaint(EndpointConfigError, lambda: checked_chat_url(base_url)) == f"base URL {base_url!r}: {why}"
    )


@given(st.text("ab.-_1", max_size=80), st.sampled_from(["", "a" * 63, "a" * 64, "a" * 200]))
def test_every_host_that_is_accepted_can_be_looked_up(one: str, other: str) -> None:
    """Python raises UnicodeError in a look-up of others, which is no failure of a network."""
    with suppress(EndpointConfigError):
        host = str(urlsplit(checked_chat_url(f"http://{one}.{other}/v1")).hostname)
        assert host.encode("idna") == host.encode()


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
    assert complaint(EndpointConfigError, lambda: checked_chat_url(base_url)) == (
        "base URL: leave user and password out of it; name the variable of an API key instead"
    )


def test_without_a_key_no_authorization_is_sent() -> None:
    assert request_headers(None, {"API_KEY": KEY}) == {
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": ACCEPT_ENCODING,
        "user-agent": "toolreel",
    }


@pytest.mark.parametrize("environ", [{}, {"API_KEY": ""}, {"API_KEY": " \n"}, {"api_key": KEY}])
def test_a_missing_key_is_named_by_its_variable(environ: dict[str, str]) -> None:
    assert complaint(EndpointConfigError, lambda: request_headers("API_KEY", environ)) == (
        "the environment variable API_KEY is not set; put the API key into it"
    )


@pytest.mark.parametrize("key", [f"{KEY}\nsecond line", f"{KEY}\0", f"“{KEY}”"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    told = complaint(EndpointConfigError, lambda: request_headers("API_KEY", {"API_KEY": key}))
    assert told.startswith("the environment variable API_KEY is empty, or contains a character")
    assert KEY not in told
