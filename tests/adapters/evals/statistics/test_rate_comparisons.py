from __future__ import annotations

from itertools import product
from math import comb

import pytest
from scipy.stats import binomtest

from toolreel.evals._statistics.rate_comparisons import Paired, compare_paired
from toolreel_core.evals._statistics.counts import Pairs


def paired(pairs: Pairs) -> Paired:
    found = compare_paired(pairs)
    assert found
    return found


def sign_p(lost: int, gained: int) -> float:
    return float(binomtest(lost, lost + gained).pvalue) if lost + gained else 1


@pytest.mark.parametrize(
    ("gained", "lost", "exact_p", "mid_p"),
    [(10, 2, 0.0386, 0.0225), (2, 10, 0.0386, 0.0225), (5, 0, 0.0625, 0.03125), (6, 0, 0.03125, 0.015625)],
)
def test_discordant_pairs_tell_two_apart(gained: int, lost: int, exact_p: float, mid_p: float) -> None:
    found = paired(Pairs(both=50, lost=lost, gained=gained, neither=3))
    assert (found.exact_p, found.mid_p) == pytest.approx((exact_p, mid_p), abs=5e-5)


def test_six_recoveries_and_no_loss_are_exactly_one_in_thirty_two() -> None:
    assert paired(Pairs(4, 0, 6, 0)).exact_p == pytest.approx(0.03125, abs=1e-12)


@pytest.mark.parametrize(("gained", "lost"), [*product(range(5), repeat=2), (40, 25), (600, 500)])
def test_the_exact_test_is_the_sign_test_of_discordant_pairs(gained: int, lost: int) -> None:
    assert paired(Pairs(7, lost, gained, 2)).exact_p == pytest.approx(sign_p(lost, gained))


def test_without_discordant_pairs_there_is_no_difference() -> None:
    found = paired(Pairs(18, 0, 0, 2))
    assert (found.difference, found.exact_p, found.mid_p) == (0, 1, 1)
    assert found.interval.holds(0)


def test_the_interval_is_the_published_one() -> None:
    # Fagerland, Lydersen and Laake 2014, BMC Med Res Methodol 14: hyper-responsive airways before and after.
    found = paired(Pairs(both=1, lost=1, gained=7, neither=12))
    assert (round(found.interval.low, 3), round(found.interval.high, 3)) == (0.026, 0.507)


def test_the_interval_covers_what_it_says() -> None:
    """Summed over all tables of 20 pairs, for a few truths."""
    pairs = 20
    for lost, gained, both in ((0.1, 0.1, 0.7), (0.02, 0.12, 0.8), (0.2, 0.35, 0.3)):
        neither, covered = 1 - lost - gained - both, 0.0
        for b, c in product(range(16), repeat=2):
            for a in range(max(0, pairs - b - c + 1)):
                d = pairs - a - b - c
                chance = comb(pairs, a) * comb(pairs - a, b) * comb(pairs - a - b, c)
                weight = chance * both**a * lost**b * gained**c * neither**d
                if weight > 1e-6 and paired(Pairs(a, b, c, d)).interval.holds(gained - lost):
                    covered += weight
        assert covered > 0.93


def test_nothing_is_compared_without_pairs() -> None:
    assert compare_paired(Pairs(0, 0, 0, 0)) is None
