"""Where requests go, and with which headers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.http.ways import Ask, both
from tests.samples import complaint, worked
from tests.servers.chat_server import replying, serving
from toolreel._internal import EndpointConfigError
from toolreel.http import (
    ACCEPT_ENCODING,
    Address,
    HttpEndpoint,
    checked_chat_url,
    headers_from_environment,
)
from toolreel.testing import saying
from toolreel_core._protocol import ReplyReceived

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


def request_headers(key: str | None, environ: Mapping[str, str], **more: Any) -> Mapping[str, str]:  # noqa: ANN401
    return Address.of("http://here", key, environ, **more).headers


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


TENANT = "tenant-secret-0815"
AZURE = "openai/deployments/d"


@both
def test_every_endpoint_asks_classic_azure(ask: Ask) -> None:
    settings: dict[str, Any] = {
        "api_key_env": "API_KEY",
        "api_prefix": "",
        "headers": {"X-Tenant": TENANT, "User-Agent": "mine"},
        "api_key_header": "api-key",
        "environ": {"API_KEY": KEY},
    }
    with serving(replying(saying("hello"))) as server:
        url = f"{server.url}/{AZURE}?api-version=2024-06-01"
        (event,) = ask(url, **settings)
    assert isinstance(event, ReplyReceived)
    (seen,) = server.seen
    assert seen.path == f"/{AZURE}/chat/completions?api-version=2024-06-01"
    assert seen.headers["api-key"] == KEY
    assert (seen.headers["x-tenant"], seen.headers["user-agent"]) == (TENANT, "mine")
    assert "authorization" not in seen.headers
    with HttpEndpoint(url, **settings) as endpoint:
        assert {KEY, TENANT} <= {*endpoint.secrets.values()}
        assert TENANT not in repr(endpoint.address)


def test_a_header_of_the_endpoint_is_a_secret_in_a_client_of_yours_too() -> None:
    with httpx.Client() as client:
        endpoint = HttpEndpoint("http://here", headers={"X-Lab": TENANT}, transport=client)
        assert endpoint.secrets == {"the header x-lab": TENANT}


def test_a_key_in_another_header_is_sent_bare_and_any_spelling_of_the_usual_one_has_bearer() -> None:
    assert request_headers("K", {"K": KEY}, api_key_header="X-Key")["x-key"] == KEY
    assert (
        request_headers("K", {"K": KEY}, api_key_header="AUTHORIZATION")["authorization"] == f"Bearer {KEY}"
    )


@pytest.mark.parametrize(("headers", "key_header", "said"), worked("headers that cannot be sent", "http"))
def test_headers_that_cannot_be_sent_are_refused(
    headers: Mapping[str, str], key_header: str, said: str
) -> None:
    given = {"headers": headers, "api_key_header": key_header}
    told = complaint(EndpointConfigError, lambda: request_headers("K", {"K": KEY}, **given))
    assert told.startswith(said)


@given(st.text(), st.text())
def test_whatever_is_accepted_is_one_header_in_one_line(name: str, value: str) -> None:
    try:
        sent = request_headers(None, {}, headers={name: value})
    except EndpointConfigError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right
    else:
        raw = httpx.Request("POST", "http://here", headers=sent).headers.raw
        assert (name.lower().encode(), value.strip().encode()) in {(key.lower(), held) for key, held in raw}
        assert not any(b"\n" in held or b"\r" in held for _, held in raw)


def test_the_value_of_a_header_is_taken_from_its_variable() -> None:
    assert headers_from_environment({"X-Tenant": "T"}, {"T": f" {TENANT}\n"}) == {"X-Tenant": TENANT}
    told = complaint(EndpointConfigError, lambda: headers_from_environment({"X-Tenant": "T"}, {}))
    assert told == "the environment variable T is not set; put the value of the header X-Tenant into it"
    told = complaint(
        EndpointConfigError, lambda: headers_from_environment({"X-Tenant": "T"}, {"T": f"{TENANT}\nx"})
    )
    assert TENANT not in told


@pytest.mark.parametrize("prefix", ["/v1?x=1", "/a b"])
def test_a_prefix_that_is_no_path_is_refused(prefix: str) -> None:
    told = complaint(EndpointConfigError, lambda: Address.of("http://here", None, api_prefix=prefix))
    assert told == f"API prefix {prefix!r}: expected a path such as /v1, without a query"
