from __future__ import annotations

import pytest

from toolreel.cassette import compared_endpoint


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
    assert compared_endpoint(url) == compared
