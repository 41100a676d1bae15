from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import IF_YOUR_OWN, complaint
from toolreel_core._errors import ConfigError
from toolreel_core._settings import bytes_per_4, estimator, register_estimator


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("éé", 1), ("漢字", 2), ("\ud83d", 1)]
)
def test_four_bytes_are_a_token_and_so_is_what_is_left_over(text: str, tokens: int) -> None:
    assert bytes_per_4(text) == tokens


@given(st.text(), st.text())
def test_texts_together_have_no_more_tokens_than_apart(one: str, other: str) -> None:
    assert bytes_per_4(one + other) <= bytes_per_4(one) + bytes_per_4(other)


def test_an_estimator_is_found_by_its_name() -> None:
    assert estimator("bytes_per_4") is bytes_per_4


def test_users_add_their_own() -> None:
    register_estimator("letters", len)
    assert estimator("letters")("abc") == 3
    assert complaint(ConfigError, lambda: register_estimator("letters", len)) == (
        "there is a token estimator 'letters' already; choose another name"
    )


def test_an_estimator_that_is_not_there_is_told_with_the_nearest() -> None:
    assert complaint(ConfigError, lambda: estimator("bytes_per_3")) == (
        f"there is no token estimator 'bytes_per_3'; did you mean 'bytes_per_4'? {IF_YOUR_OWN}"
    )
