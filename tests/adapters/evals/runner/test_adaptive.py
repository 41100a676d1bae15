"""Cells that stop early, run by run against a provider on this machine, and as a course alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.evals.provided import evaluated, planned, written_out
from tests.evals.provider import provider
from tests.samples import complaint
from toolreel.evals._runner.adaptive import STOPPED, Course, course_of, required_trials
from toolreel.evals._store.results import Results
from toolreel.evals._summary.summary_files import summary_of
from toolreel_core._errors import ConfigError
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._verdicts import Result

PASS: tuple[Result, ...] = ("pass",)
FAIL: tuple[Result, ...] = ("fail",)
NARROW = {"until": "narrow", "width": 0.5, "looks": [4, 8, 12]}
DECIDED = {"until": "decided", "looks": [8, 12]}


def plan_of(adaptive: dict[str, Any], trials: int = 20, strategies: tuple[str, ...] = ("raw",)) -> EvalPlan:
    return planned("http://127.0.0.1:1", strategies=strategies, adaptive=adaptive, eval={"trials": trials})


def known(plan: EvalPlan, *results: Result, strategy: str = "raw") -> dict[str, Result]:
    """Results of the first trials of a strategy."""
    keys = [sample.key for sample in plan.samples() if sample.cell.strategy == strategy]
    return dict(zip(keys, results, strict=False))


def next_trials(plan: EvalPlan, results: dict[str, Result]) -> list[int]:
    rounds = Course(plan, results).rounds(plan.samples)
    return [sample.trial for sample in next(rounds, iter(()))]


def test_a_round_goes_up_to_the_next_look() -> None:
    plan = plan_of(NARROW)
    assert next_trials(plan, {}) == [1, 2, 3, 4]
    assert next_trials(plan, known(plan, "pass", "fail", "pass", "fail")) == [5, 6, 7, 8]
    assert next_trials(plan, known(plan, "pass", "fail")) == [3, 4]


def test_a_cell_that_is_decided_needs_no_more() -> None:
    plan = plan_of(NARROW)
    course = Course(plan, known(plan, *(PASS * 8)))
    assert [*course.rounds(plan.samples)] == []
    [stopped] = course.stopped
    assert (stopped.trials, course.spared) == (8, 12)
    assert "at most 0.5 is asked for" in stopped.why


def test_the_last_look_ends_a_cell_too() -> None:
    plan = plan_of({**NARROW, "width": 0.05})
    course = Course(plan, known(plan, *(PASS * 12)))
    [stopped] = course.stopped
    assert stopped.why == "after 12 runs, the last at which one looks, nothing is decided"
    assert (stopped.confidence, course.spared) == (None, 8)


def test_a_gap_is_filled_before_anybody_looks() -> None:
    plan = plan_of(NARROW)
    results = known(plan, *(PASS * 8))
    third = next(sample.key for sample in plan.samples() if sample.trial == 3)
    del results[third]  # it was void
    assert next_trials(plan, results) == [3]


def test_runs_that_say_nothing_of_the_model_do_not_count_for_a_look() -> None:
    plan = plan_of(NARROW)
    assert next_trials(plan, known(plan, "pass", "unsupported", "pass", "pass")) == [5]


def test_a_plan_with_fewer_trials_than_looks_runs_them_all() -> None:
    plan = plan_of(NARROW, trials=3)
    assert next_trials(plan, {}) == [1, 2, 3]
    course = Course(plan, known(plan, *(PASS * 3)))
    assert [*course.rounds(plan.samples)] == []
    assert (course.stopped, course.spared) == ((), 0)


def test_without_a_rule_there_is_one_round() -> None:
    plan = planned("http://127.0.0.1:1", eval={"trials": 3})
    course = Course(plan, known(plan, "pass"))
    assert [[sample.trial for sample in each] for each in course.rounds(plan.samples)] == [[2, 3]]
    assert (course.stopped, course.spared) == ((), 0)


def test_two_strategies_stop_once_they_are_told_apart() -> None:
    plan = plan_of(DECIDED, strategies=("raw", "reads"))
    results = known(plan, *(FAIL * 8)) | known(plan, *(PASS * 8), strategy="reads")
    course = Course(plan, results)
    [stopped] = course.stopped
    assert [cell.strategy for cell in stopped.cells] == ["raw", "reads"]
    assert (stopped.trials, course.spared) == (8, 24)


def test_a_strategy_goes_on_while_one_of_its_neighbours_is_not_told_apart() -> None:
    plan = plan_of(DECIDED, strategies=("raw", "production", "reads"))
    results = known(plan, *(FAIL * 8))
    for strategy in ("production", "reads"):
        results |= known(plan, *(PASS * 8), strategy=strategy)
    course = Course(plan, results)
    first = next(course.rounds(plan.samples))
    assert {(sample.cell.strategy, sample.trial) for sample in first} == {
        (strategy, trial) for strategy in ("production", "reads") for trial in range(9, 13)
    }
    assert course.spared == 12


def test_a_comparison_needs_two_strategies() -> None:
    told = complaint(ConfigError, lambda: Course(plan_of(DECIDED), {}))
    assert told.startswith("adaptive.until: the rule compares strategies, and the plan has one")


@pytest.mark.parametrize("jobs", [1, 6])
def test_an_evaluation_stops_where_its_rule_says_so(tmp_path: Path, jobs: int) -> None:
    with provider(kinds=("good",), worded=written_out) as there:
        options = {"trials": 10, "jobs": jobs}
        plan = planned(
            there.url, strategies=["raw", "reads"], adaptive={**NARROW, "looks": [2, 8]}, eval=options
        )
        outcome = evaluated(plan, tmp_path)
        again = evaluated(plan, tmp_path)
    assert (outcome.required_runs, outcome.made, outcome.left, outcome.spared) == (16, 16, 0, 4)
    assert (again.made, again.left, again.complete) == (0, 0, True)
    told = json.loads((tmp_path / STOPPED).read_text())
    assert (told["asked_for"], told["spared"]) == (16, 4)
    assert [(one["strategies"], one["trials"]) for one in told["stopped"]] == [(["raw"], 8), (["reads"], 8)]
    assert told["rule"].startswith("Stop a cell after 2 or 8 runs")
    course = course_of(plan, Results.open(tmp_path).records())
    assert [stopped.tree() for stopped in course.stopped] == told["stopped"]
    assert sum(map(len, required_trials(plan, course.stops).values())) == 16
    TIMES_READ.clear()
    results = Counted.open(tmp_path)
    summary = summary_of(results, plan)
    assert (summary.missing, summary.required_runs) == (0, 16)
    assert len(TIMES_READ) == 1, "a journal of thousands of runs is read once"


TIMES_READ: list[Path] = []


class Counted(Results):
    """Results that count how often their records are read."""

    __slots__ = ()

    def records(self) -> Iterator[Record]:
        TIMES_READ.append(self.path)
        return Results.records(self)


def test_without_a_rule_all_runs_are_asked_for() -> None:
    assert [*required_trials(planned("http://127.0.0.1:1", eval={"trials": 3}), {}).values()] == [range(1, 4)]
