from __future__ import annotations

import runpy
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, prod
from random import Random
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.samples import complaint
from toolreel._internal import MissingExtra
from toolreel.evals import (
    adjusted,
    compare_scenarios,
    flips_p,
    holm,
    mcnemar_p,
    permutation_p,
)
from toolreel.evals._statistics import interval_bounds, significance_tests
from toolreel_core.evals import Difference, PairedCell, Pairs

# Reference values are those of statsmodels 0.15.0 on SciPy 1.17.1, as printed by the calls next to
# them. It is no dependency of the tests, because it would bring pandas: 150 MB to compare a few numbers.


@pytest.mark.parametrize("module", [interval_bounds, significance_tests])
def test_without_the_extra_the_import_names_it(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert complaint(MissingExtra, lambda: runpy.run_path(str(module.__file__))) == (
        "scipy is not installed: it comes with the extra 'evals', pip install 'toolreel[evals]'"
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.04, 0.04, 0.04], [0.12, 0.12, 0.12]),
        ([0.9, 0.0001, 0.02, 0.6], [1.0, 0.0004, 0.06, 1.0]),
        ([0.3, 0.3], [0.6, 0.6]),
        ([1.0], [1.0]),
        ([], []),
    ],
)
def test_holms_adjustment(values: list[float], expected: list[float]) -> None:
    # multipletests(values, method="holm")[1]
    assert [*holm(dict(enumerate(values))).values()] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("lost", "gained", "exact_p"), [(25, 40, 0.08168153394154003), (500, 600, 0.0028195449914364284)]
)
def test_the_exact_mcnemar_test(lost: int, gained: int, exact_p: float) -> None:
    # mcnemar([[7, lost], [gained, 2]], exact=True).pvalue
    assert mcnemar_p(lost, gained) == pytest.approx(exact_p, rel=1e-12)


def difference(gained: int) -> Difference:
    """Of ten scenarios, of which some are gained."""
    pairs = [Pairs(0, 0, 1, 0)] * gained + [Pairs(1, 0, 0, 0)] * (10 - gained)
    found = compare_scenarios(PairedCell(str(at), "", each) for at, each in enumerate(pairs))
    assert found
    return found


def test_an_adjusted_difference_says_for_how_many_and_what_is_left_to_find() -> None:
    found = adjusted({"a": difference(10), "b": difference(6), "c": difference(5)})
    assert [found[name].p_value for name in "abc"] == pytest.approx([3 * 2**-9, 2 * 2**-5, 2**-4])
    assert {each.smallest_p for each in found.values()} == {3 * 2**-9}
    assert {each.comparisons for each in found.values()} == {3}
    assert adjusted({}) == {}
    assert adjusted({"a": difference(6)}) == {"a": difference(6)}


def test_signs_of_nothing_are_no_evidence() -> None:
    assert flips_p([]) == flips_p([Fraction(0), Fraction(0)]) == 1
    assert flips_p([Fraction(3), Fraction(-3)]) == 1


SHARES = st.fractions(min_value=-1, max_value=1, max_denominator=6)


def flipped(differences: list[Fraction]) -> list[Fraction]:
    """How far out the sum is under each combination of signs."""
    return [
        abs(sum((sign * one for sign, one in zip(signs, differences, strict=True)), Fraction(0)))
        for signs in product((1, -1), repeat=len(differences))
    ]


@given(st.lists(SHARES, max_size=8))
def test_all_combinations_of_signs_are_counted(differences: list[Fraction]) -> None:
    sums = flipped(differences)
    expected = sum(one >= abs(sum(differences, Fraction(0))) for one in sums) / len(sums)
    assert flips_p(differences) == pytest.approx(expected)


@given(st.lists(SHARES, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_what_is_rounded_is_never_more_significant_than_it_is(
    differences: list[Fraction], random: Random
) -> None:
    """Without a common divisor, as of cells that lost single runs, it would take billions of steps."""
    primes = [10_007, 10_009, 10_037, 10_039, 10_061, 10_067, 10_069, 10_079]
    odd = [Fraction(round(each * prime), prime) for each, prime in zip(differences, primes, strict=False)]
    random.shuffle(odd)
    sums = flipped(odd)
    found, seen = flips_p(odd), abs(sum(odd, Fraction(0)))
    assert found >= sum(one >= seen for one in sums) / len(sums) - 1e-12
    slack = Fraction(1, 1_000)
    assert found <= sum(one >= seen - slack for one in sums) / len(sums) + 1e-12


def test_fishers_exact_test_counts_all_tables_that_are_as_unlikely() -> None:
    # The lady tasting tea: 3 of 4 and 1 of 4; 17 + 17 of the 70 ways are as unlikely.
    assert permutation_p([(1, 3, 4)]) == pytest.approx(34 / 70)


@given(st.integers(1, 30), st.data())
def test_one_cell_is_fishers_exact_test(runs: int, data: st.DataObject) -> None:
    first, second = (data.draw(st.integers(0, runs)) for _ in range(2))
    _, expected = stats.fisher_exact([[first, runs - first], [second, runs - second]])
    assert permutation_p([(first, second, runs)]) == pytest.approx(expected)


CELL = st.integers(1, 4).flatmap(
    lambda runs: st.tuples(st.integers(0, runs), st.integers(0, runs), st.just(runs))
)


@given(st.lists(CELL, max_size=4))
def test_labels_are_exchanged_inside_of_cells(cells: list[tuple[int, int, int]]) -> None:
    """Every way to give the passes of each cell to its two sides, each weighted by how often it occurs."""
    ways = [
        [
            (comb(runs, second) * comb(runs, first + other - second), second)
            for second in range(runs + 1)
            if 0 <= first + other - second <= runs
        ]
        for first, other, runs in cells
    ]
    counts: Counter[int] = Counter()
    for chosen in product(*ways):
        counts[sum(second for _, second in chosen)] += prod(weight for weight, _ in chosen)
    seen = counts[sum(second for _, second, _ in cells)]
    expected = sum(count for count in counts.values() if count <= seen) / sum(counts.values())
    assert permutation_p(cells) == pytest.approx(expected)
