"""Equivalence within a margin: the interval decides, and says how many pairs would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._errors import ConfigError
from toolreel_core.evals import Difference, Equivalence, Interval, equivalence


def seen(low: float, difference: float, high: float, runs: int = 40) -> Difference:
    return Difference(
        "these-scenarios", difference, Interval(low, high, 0.95, ""), 0.5, 0.01, "", 4, runs=runs
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (seen(-0.04, 0.0, 0.04), "equivalent"),
        (seen(-0.04, -0.02, -0.01), "equivalent"),
        (seen(-0.3, -0.2, -0.01), "different"),
        (seen(0.01, 0.2, 0.3), "different"),
        (seen(-0.3, -0.1, 0.02), "undecided"),
        (seen(-0.05, 0.0, 0.04), "undecided"),
    ],
)
def test_the_interval_decides(found: Difference, verdict: str) -> None:
    assert equivalence(found, 0.05).verdict == verdict


def test_the_sentences_say_what_was_found_and_what_would_decide() -> None:
    assert equivalence(seen(-0.04, 0.0, 0.04), 0.05).sentence == (
        "equivalent within 5 points: the difference is +0.0 points (-4.0 to +4.0)"
    )
    assert equivalence(seen(-0.3, -0.2, -0.1), 0.05).sentence == "different: by -20.0 points (-30.0 to -10.0)"
    assert equivalence(seen(-0.1, 0.0, 0.1), 0.05).sentence == (
        "undecided: the difference is +0.0 points (-10.0 to +10.0) from 40 pairs; about 160 pairs would "
        "decide, if the rates stay as they are"
    )


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1])
def test_a_margin_is_between_0_and_1(margin: float) -> None:
    with pytest.raises(ConfigError, match="margin"):
        equivalence(seen(-0.1, 0.0, 0.1), margin)


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0.01, 0.99), st.integers(1, 500))
def test_a_wider_margin_never_turns_equivalent_into_anything_else_and_undecided_needs_more(
    difference: float, reach: float, margin: float, runs: int
) -> None:
    found = seen(difference - reach, difference, difference + reach, runs)
    one: Equivalence = equivalence(found, margin)
    assert (one.needed > runs) == (one.verdict == "undecided")
    if one.verdict == "equivalent":
        assert equivalence(found, (1 + margin) / 2).verdict == "equivalent"
