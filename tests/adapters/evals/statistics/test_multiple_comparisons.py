from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel.evals._statistics.multiple_comparisons import adjusted, holm, paired_ties
from toolreel.evals._statistics.side_differences import compare_scenarios
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.counts import Pairs
from toolreel_core.evals._statistics.differences import Difference, PairedCell

TASKS = [(scenario, trial) for scenario in range(8) for trial in range(5)]


def passing(*failed: int) -> dict[tuple[int, int], bool]:
    """All trials of a scenario pass, or none does."""
    return {task: task[0] not in failed for task in TASKS}


def test_holm_multiplies_the_smallest_by_all_and_never_falls_after_it() -> None:
    assert holm({("a", "b"): 0.01, ("a", "c"): 0.04, ("b", "c"): 0.03}) == pytest.approx(
        {("a", "b"): 0.03, ("a", "c"): 0.06, ("b", "c"): 0.06}
    )
    assert [*holm({("z", "y"): 0.9, ("a", "b"): 0.1})] == [("z", "y"), ("a", "b")]
    assert holm({}) == {}


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


def test_what_is_no_probability_is_named() -> None:
    told = complaint(ConfigError, lambda: holm({("a", "b"): 3.86}))
    assert told == "a and b: expected a p-value from 0 to 1, got 3.86"


def test_the_correction_can_tie_what_one_test_would_separate() -> None:
    runs = {name: {task: task >= failed for task in range(20)} for name, failed in (("a", 6), ("b", 0))}
    among = runs | {name: {task: task >= 3 for task in range(20)} for name in "cdef"}
    assert paired_ties(runs).ties.letters == {"b": "a", "a": "b"}
    assert set(paired_ties(among).ties.letters.values()) == {"a"}


def test_a_candidate_without_a_valid_run_has_no_place() -> None:
    found = paired_ties({"void": {}, "a": {1: True}})
    assert (found.ties.names, found.left_out, found.p_values) == (("a",), ("void",), {})


def test_candidates_with_the_same_tasks_are_tied_by_their_pairs() -> None:
    found = paired_ties({"raw": passing(1, 2, 3), "baseline": passing(1), "production": passing()})
    assert found.ties.names == ("production", "baseline", "raw")
    assert found.ties.letters == {"production": "a", "baseline": "a", "raw": "b"}
    assert found.p_values["baseline", "production"] == 0.0625


def test_trials_of_a_scenario_are_one_piece_of_evidence() -> None:
    runs = {"raw": passing(1, 2, 3), "production": passing()}
    found = paired_ties(runs, cell=lambda task: (str(task[0]), ""))
    assert found.p_values == {("raw", "production"): 0.25}
    assert paired_ties(runs).p_values["raw", "production"] < 0.001


def test_only_tasks_that_both_have_run_are_compared() -> None:
    half = {task: passed for task, passed in passing(1).items() if task[0] < 4}
    found = paired_ties({"a": half, "b": passing(5)})
    assert found.p_values["a", "b"] == 0.0625
    assert paired_ties({"a": {1: True}, "b": {2: False}}).p_values == {("a", "b"): 1.0}


def test_the_level_is_a_share() -> None:
    assert complaint(ConfigError, lambda: paired_ties({}, 5)).startswith("alpha: expected")
