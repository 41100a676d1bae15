from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._config_checks import matches_wildcard


@given(st.text("ab*", max_size=6), st.text("ab", max_size=8))
def test_a_star_stands_for_any_text_and_everything_else_for_itself(pattern: str, text: str) -> None:
    meant = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert matches_wildcard(pattern, text) == bool(re.fullmatch(meant, text))


def test_many_stars_take_no_time() -> None:
    assert not matches_wildcard("a*" * 100 + "b", "a" * 256)
