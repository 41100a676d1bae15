from __future__ import annotations

import pytest

from toolreel.cassette._request_key import canonical_body, endpoint, request_key


@pytest.mark.parametrize(
    ("url", "compared"),
    [
        ("https://api.test/v1/chat/completions", "/chat/completions"),
        ("https://api.test/chat/completions", "/chat/completions"),
        ("https://api.test/v1beta/openai/chat/completions", "/chat/completions"),
        ("https://a/chat/completions/v1/chat/completions?x=1", "/chat/completions?x=1"),
        ("https://a/deep/v1beta2/models/v2/x", "/models/v2/x"),
        ("https://a/v1", "/"),
        ("https://a/v1extra/models", "/v1extra/models"),
        ("https://a/models?key=5", "/models?key=REDACTED"),
    ],
)
def test_the_endpoint_is_compared_and_not_where_it_is_mounted(url: str, compared: str) -> None:
    assert endpoint(url) == compared


def test_json_is_compared_as_canonical_text_and_anything_else_as_bytes() -> None:
    assert canonical_body(b'{"b": 1, "a": "\\u00e9"}') == '{"b":1,"a":"é"}'.encode()
    assert canonical_body(b"not json ") == b"not json "
    assert canonical_body(b"\xff") == b"\xff"


def test_what_is_compared_makes_the_key() -> None:
    url = "https://a/v1/chat/completions"
    key = request_key("POST", url, b"{}")
    assert key == request_key("post", "http://b:1/x/v1/chat/completions", b"{}")
    assert key not in {
        request_key("GET", url, b"{}"),
        request_key("POST", url + "?a=1", b"{}"),
        request_key("POST", url, b"[]"),
    }
