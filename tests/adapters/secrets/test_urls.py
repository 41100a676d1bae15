from __future__ import annotations

import pytest

from toolreel._secrets import is_secret_parameter, scrubbed_url


@pytest.mark.parametrize(
    ("url", "scrubbed"),
    [
        ("https://api.test/v1/models", "https://api.test/v1/models"),
        ("https://user:pw@api.test:8443/v1?b=2&a=1", "https://api.test:8443/v1?b=2&a=1"),
        ("https://a/b?key=1&x=2", "https://a/b?key=REDACTED&x=2"),
        (
            "https://a/b?API-Key=1&access_token=2&sig=3",
            "https://a/b?API-Key=REDACTED&access_token=REDACTED&sig=REDACTED",
        ),
        (
            "https://a/b?monkey=1&keyword=2&key&token_limit=5",
            "https://a/b?monkey=1&keyword=2&key&token_limit=5",
        ),
        ("https://a/b#token=1", "https://a/b"),
    ],
)
def test_a_url_is_stored_without_its_secrets(url: str, scrubbed: str) -> None:
    assert scrubbed_url(url) == scrubbed


@pytest.mark.parametrize("name", ["sig", "X-Amz-Credential", "client.secret", "apiKeyId", "api%5Fkey"])
def test_a_secret_is_known_by_the_last_word_of_its_name(name: str) -> None:
    assert is_secret_parameter(name)


@pytest.mark.parametrize("name", ["", "monkey", "keys", "token_limit", "design", "Key words"])
def test_other_names_that_contain_such_a_word_are_kept(name: str) -> None:
    assert not is_secret_parameter(name)
