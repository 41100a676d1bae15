from __future__ import annotations

import pytest

from toolreel.evals import wilson_bounds

# Reference values are those of statsmodels 0.15.0 on SciPy 1.17.1, as printed by the calls next to
# them. It is no dependency of the tests, because it would bring pandas: 150 MB to compare a few numbers.


@pytest.mark.parametrize(
    ("passed", "runs", "alpha", "bounds"),
    [
        (496, 580, 0.05, (0.8241935027072511, 0.8814775211220638)),
        (503, 580, 0.05, (0.8371958123391516, 0.8924543239503826)),
        (1, 3, 0.01, (0.04042662929608465, 0.855783984952333)),
        (37, 1000, 0.1, (0.028364863423138147, 0.048133709816880095)),
        (20, 20, 0.05, (0.8388748419471804, 1.0)),
        (0, 7, 0.05, (0.0, 0.3543304350666875)),
    ],
)
def test_wilsons_interval(passed: int, runs: int, alpha: float, bounds: tuple[float, float]) -> None:
    # proportion_confint(passed, runs, alpha, method="wilson")
    assert wilson_bounds(passed, runs, alpha) == pytest.approx(bounds, rel=1e-13)


@pytest.mark.parametrize("runs", [1, 2, 7, 20, 10_000])
def test_wilsons_interval_ends_exactly_where_rates_do(runs: int) -> None:
    assert wilson_bounds(0, runs, 0.05)[0] == 0
    assert wilson_bounds(runs, runs, 0.05)[1] == 1
