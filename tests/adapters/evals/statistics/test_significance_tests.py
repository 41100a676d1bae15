from __future__ import annotations

import runpy
import sys
from types import ModuleType

import pytest

from tests.samples import complaint
from toolreel._internal.errors import MissingExtra
from toolreel.evals._statistics import interval_bounds, significance_tests
from toolreel.evals._statistics.significance_tests import (
    fisher_p,
    flips_p,
    holm_adjusted,
    mcnemar_p,
    mcnemar_power,
    score_p,
)

# Reference values are those of statsmodels 0.15.0 on SciPy 1.17.1, as printed by the calls that stand beside
# them. It is no dependency of the tests, because it would bring pandas: 150 MB to compare a few numbers.


@pytest.mark.parametrize("module", [interval_bounds, significance_tests])
def test_without_the_extra_the_import_names_it(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert complaint(MissingExtra, lambda: runpy.run_path(str(module.__file__))) == (
        "scipy is not installed: it comes with the extra 'evals', pip install 'toolreel[evals]'"
    )


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [
        ((496, 580), (503, 580), 0.5523678957447336),
        ((60, 100), (75, 90), 0.00041293675625687367),
        ((10, 20), (19, 24), 0.044528755309392994),
        ((300, 1000), (250, 1000), 0.01230448949667501),
    ],
)
def test_the_score_test(first: tuple[int, int], second: tuple[int, int], p_value: float) -> None:
    # test_proportions_2indep(*second, *first, compare="diff", method="score").pvalue
    assert score_p(first, second) == pytest.approx(p_value, rel=1e-12)
    assert score_p(second, first) == pytest.approx(p_value, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "adjusted"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.04, 0.04, 0.04], [0.12, 0.12, 0.12]),
        ([0.9, 0.0001, 0.02, 0.6], [1.0, 0.0004, 0.06, 1.0]),
        ([0.3, 0.3], [0.6, 0.6]),
        ([1.0], [1.0]),
        ([], []),
    ],
)
def test_holms_adjustment(values: list[float], adjusted: list[float]) -> None:
    # multipletests(values, method="holm")[1]
    assert holm_adjusted(values) == pytest.approx(adjusted, rel=1e-15)


@pytest.mark.parametrize(
    ("lost", "gained", "exact_p"), [(25, 40, 0.08168153394154003), (500, 600, 0.0028195449914364284)]
)
def test_the_exact_mcnemar_test(lost: int, gained: int, exact_p: float) -> None:
    # mcnemar([[7, lost], [gained, 2]], exact=True).pvalue
    assert mcnemar_p(lost, gained)[0] == pytest.approx(exact_p, rel=1e-12)


def test_fishers_exact_test_counts_all_tables_that_are_as_unlikely() -> None:
    # The lady tasting tea: 3 of 4 and 1 of 4; 17 + 17 of the 70 ways are as unlikely.
    assert fisher_p((1, 4), (3, 4)) == pytest.approx(34 / 70)


def test_signs_of_nothing_are_no_evidence() -> None:
    assert flips_p([]) == flips_p([0, 0]) == (1.0, 1.0)
    assert flips_p([3, -3]) == (1.0, 1.0)


def test_the_power_of_very_many_pairs_is_computed_where_they_can_be() -> None:
    assert mcnemar_power(50_000_000, 0.0496, 0.0504, 0.05) == pytest.approx(1.0)
    assert mcnemar_power(1, 0.1, 0.2, 0.05) == 0
