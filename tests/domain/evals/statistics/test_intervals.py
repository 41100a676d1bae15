from __future__ import annotations

import pytest

from toolreel_core.evals import Interval


def test_an_interval_holds_its_ends() -> None:
    interval = Interval(-0.25, 0.5, 0.95, "Wilson")
    assert interval.width == 0.75
    assert [interval.holds(value) for value in (-0.26, -0.25, 0, 0.5, 0.51)] == [
        *(False, True, True, True),
        False,
    ]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.8372, 0.8918, "83.7 to 89.2 %"),
        (0, 1, "0 to 100 %"),
        (-0.02786, 0.052, "-2.8 to 5.2 %"),
        (-0.0001, 0.1, "0 to 10 %"),
    ],
)
def test_an_interval_is_shown_in_percent(low: float, high: float, shown: str) -> None:
    assert str(Interval(low, high, 0.95, "Wilson")) == shown
