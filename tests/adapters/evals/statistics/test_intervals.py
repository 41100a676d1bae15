from __future__ import annotations

from itertools import pairwise

import pytest

from toolreel.evals import CellRate, Clustered, clustered_rate, methods_of, wilson
from toolreel_core.evals import Count


def test_no_runs_have_no_interval() -> None:
    assert wilson(Count(0, 0)) is None


RUNS = [Count(5, 5), Count(4, 5), Count(1, 4), Count(0, 2), Count(5, 5), Count(3, 6)]


def of(*counts: Count, model: str = "m") -> list[CellRate]:
    """A cell for each scenario."""
    return [CellRate.of(f"scenario {place}", model, count) for place, count in enumerate(counts)]


def clustered(cells: list[CellRate]) -> Clustered:
    found = clustered_rate(cells)
    assert found
    return found


def test_each_scenario_counts_once_and_in_it_each_cell() -> None:
    found = clustered([*of(Count(20, 20), Count(1, 4)), *of(Count(0, 4), model="other")])
    assert found.rate == ((1 + 0) / 2 + 0.25) / 2
    assert (found.count, found.clusters, found.models) == (Count(21, 28), 2, 2)
    assert found.interval.method == "Gaffke over scenarios: about scenarios such as these, on these models"


def test_cells_without_a_run_are_left_out_and_counted() -> None:
    found = clustered(of(Count(1, 2), Count(0, 0), Count(3, 3)))
    assert (found.rate, found.left_out, found.clusters) == (0.75, 1, 2)
    assert found.interval == clustered(of(Count(1, 2), Count(3, 3))).interval
    assert clustered_rate([]) is None
    assert clustered_rate(of(Count(0, 0))) is None


def test_one_scenario_has_wilsons_interval_of_its_runs() -> None:
    found, plain = clustered(of(Count(15, 20), Count(0, 0))), wilson(Count(15, 20))
    assert plain
    assert (found.interval.low, found.interval.high) == pytest.approx((plain.low, plain.high))
    assert found.interval.method == "Wilson: about this scenario, on this model"
    assert found.clusters == 1
    several = clustered([CellRate.of("one", model, Count(3, 5)) for model in "abcd"])
    twelve = wilson(Count(12, 20))
    assert twelve
    assert (several.interval.low, several.interval.high) == pytest.approx((twelve.low, twelve.high))
    assert several.interval.method == "Wilson: about this scenario, on these models"


def test_a_mean_of_cells_is_as_sure_as_its_smallest_ones() -> None:
    widths = [
        clustered([CellRate.of("one", "a", Count(50, 100)), CellRate.of("one", "b", one)]).interval.width
        for one in (Count(1, 2), Count(5, 10), Count(50, 100))
    ]
    assert widths == sorted(widths, reverse=True)
    plain = wilson(Count(51, 102))
    assert plain
    assert widths[0] > 1.5 * plain.width, "as all runs together would not say"


def test_six_models_are_a_sample_too() -> None:
    cells = [CellRate.of(scenario, model, Count(4, 5)) for scenario in "abcdefgh" for model in "123456"]
    both = clustered(cells)
    assert (
        both.interval.method == "Gaffke over scenarios and models: about scenarios and models such as these"
    )
    assert both.interval.low < clustered([one for one in cells if one.model != "6"]).interval.low
    one = clustered([cell for cell in cells if cell.scenario == "a"])
    assert one.interval.method == "Gaffke over models: about models such as these, on this scenario"


@pytest.mark.parametrize("passed", [0, 2, 4, 5])
def test_more_trials_of_the_same_scenarios_do_not_make_it_narrow(passed: int) -> None:
    few, many = clustered(of(*[Count(passed, 5)] * 4)), clustered(of(*[Count(20 * passed, 100)] * 4))
    assert few.interval == many.interval
    assert few.interval.width > 0.5


def test_a_better_result_never_has_a_lower_bound() -> None:
    """400 of 400 on four scenarios once had a lower bound of 51 %, and 396 of 400 one of 97.5 %."""
    bounds = [clustered(of(*[Count(passed, 100)] * 4)).interval.low for passed in range(0, 101, 3)]
    bounds.append(clustered(of(*[Count(100, 100)] * 4)).interval.low)
    assert bounds == sorted(bounds)
    assert max(after - before for before, after in pairwise(bounds)) < 0.02


def test_formulas_are_named_once() -> None:
    intervals = [wilson(Count(1, 2)), None, wilson(Count(2, 2)), clustered(of(*RUNS)).interval]
    assert methods_of(intervals) == (
        "Wilson; Gaffke over scenarios: about scenarios such as these, on this model"
    )
