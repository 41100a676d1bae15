from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings import bytes_per_4, estimator, register_estimator


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("éé", 1), ("漢字", 2), ("\ud83d", 1)]
)
def test_four_bytes_are_a_token_and_so_is_what_is_left_over(text: str, tokens: int) -> None:
    assert bytes_per_4(text) == tokens


def test_users_add_their_own() -> None:
    register_estimator("letters", len)
    assert estimator("letters")("abc") == 3
    assert complaint(ConfigError, lambda: register_estimator("letters", len)) == (
        "there is a token estimator 'letters' already; choose another name"
    )
