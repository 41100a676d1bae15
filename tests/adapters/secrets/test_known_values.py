from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel._secrets import (
    api_key_if_secret,
    encoded_spellings,
    known_secrets,
    leaks,
    scrubbed_url,
    secrets_in_request,
)

VALUE = "s3cr3t/with+signs"


@pytest.mark.parametrize(("name", "value"), worked("no secret in an environment", "secrets"))
def test_what_is_no_secret_in_an_environment_is_left_alone(name: str, value: str) -> None:
    assert known_secrets({name: value}) == {}


def test_passwords_in_urls_of_an_environment_are_secret() -> None:
    environ = {"DATABASE_URL": "postgres://me:p%40ssw0rd1@db/app", "PROXY": "http://me:x@proxy"}
    assert known_secrets(environ) == {"DATABASE_URL": "p@ssw0rd1"}


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "z", "yz"])
def test_a_value_is_found_wherever_it_stands_in_base64(before: str, after: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(f"{before}{VALUE}{after}".encode()).decode()
        assert [leak.kind for leak in leaks(f"x {text} y", {"A": VALUE})] == ["value of A"]


def test_a_value_is_found_in_urls_and_in_hex() -> None:
    for text in ("s3cr3t%2Fwith%2Bsigns", "s3cr3t%2fwith%2bsigns", VALUE.encode().hex().upper()):
        assert leaks(text, {"A": VALUE})


def test_what_a_client_sends_is_told_by_its_place() -> None:
    sent = secrets_in_request(
        "https://me:pass%21word1234@a/v1?access_token=abcdef123456&limit=500000000000",
        {"Authorization": "Basic bWU6cGFzcw1234", "X-Api-Key": "not-needed", "accept": "abcdef123456"},
    )
    assert sent == {
        "the header authorization": "bWU6cGFzcw1234",
        "the parameter access_token": "abcdef123456",
        "the URL": "pass!word1234",
    }


def test_the_key_of_a_server_is_secret_whatever_it_looks_like() -> None:
    for name in ("Authorization", "api-key", "X-Api-Key"):
        assert [*secrets_in_request("http://a/", {name: "Bearer plainkey"}).values()] == ["plainkey"]
        assert secrets_in_request("http://a/", {name: "Bearer short"}) == {}
    assert secrets_in_request("http://a/", {"x-auth": "plainkey"}) == {}
    assert secrets_in_request("http://a/?api-key=plainkey&key=short", {}) == {
        "the parameter api-key": "plainkey"
    }


@pytest.mark.parametrize(
    "key", ["x", "EMPTY", "none", "ollama", "test", " 1234567 ", "sk-no-key-required", "LM-Studio"]
)
def test_short_keys_and_well_known_dummies_are_no_secrets(key: str) -> None:
    assert api_key_if_secret("K", key) == {}


@given(st.text(min_size=1, max_size=4), st.text(max_size=40))
def test_however_short_a_value_is_looking_for_it_ends(value: str, text: str) -> None:
    """One byte in Base64 may be no character at all, which is found everywhere, for ever."""
    assert min(map(len, encoded_spellings(value))) >= len(value)
    assert all(leak.kind == "value of K" for leak in leaks(text, {"K": value}))


@pytest.mark.parametrize(("url", "stored"), worked("a url without its secrets", "secrets"))
def test_a_url_is_stored_without_its_secrets(url: str, stored: str) -> None:
    assert scrubbed_url(url) == stored
