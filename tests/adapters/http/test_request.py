from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint, worked
from toolreel._internal import EndpointConfigError
from toolreel.http import ACCEPT_ENCODING, checked_chat_url, request_headers

KEY = "not-a-real-key-4711"


@pytest.mark.parametrize(("base_url", "url"), worked("where chat completions are", "http"))
def test_chat_completions_are_found_under_a_base_url(base_url: str, url: str) -> None:
    assert checked_chat_url(base_url) == url


@pytest.mark.parametrize("base_url", worked("no base URL", "http"))
def test_what_is_no_base_url_is_refused_with_an_example(base_url: str) -> None:
    assert complaint(EndpointConfigError, lambda: checked_chat_url(base_url)) == (
        f"base URL {base_url!r}: expected http:// or https:// and a host, such as http://127.0.0.1:8080/v1"
    )


@pytest.mark.parametrize(("base_url", "why"), worked("a broken base URL", "http"))
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
