"""Drift: what a recorded run would be now that something has changed; and tools that are hidden."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evals.evaluations import evaluated, plan_of
from tests.evals.provider import Provider, provider
from toolreel.evals import Results, replays
from toolreel_core._conversation import UserMessage
from toolreel_core.evals import Case, EvalPlan, Scenario


@pytest.fixture
def far() -> Generator[Provider]:
    with provider() as told:
        yield told


def with_scenarios(plan: EvalPlan, change: Callable[[Scenario], Scenario]) -> EvalPlan:
    return EvalPlan(plan.options, plan.presets, tuple(map(change, plan.scenarios)))


def reworded(scenario: Scenario) -> Scenario:
    def begin(seed: str) -> Case:
        case = scenario.begin(seed)
        return replace(case, messages=(*case.messages[:-1], UserMessage("Something else.")))

    return replace(scenario, begin=begin)


def drifts(out: Path, plan: EvalPlan) -> list[str]:
    return [again.drift for again in replays(Results.open(out), plan)]


def test_other_words_of_a_scenario_are_drift(far: Provider, tmp_path: Path) -> None:
    plan = plan_of(far.url)
    evaluated(plan, tmp_path)
    found = drifts(tmp_path, with_scenarios(plan, reworded))
    assert len(found) == 12
    assert all("messages" in drift for drift in found)


def test_a_run_that_the_plan_does_not_ask_for_is_told(far: Provider, tmp_path: Path) -> None:
    evaluated(plan_of(far.url), tmp_path)
    found = drifts(tmp_path, plan_of(far.url, eval={"trials": 1}))
    assert sorted(found) == [""] * 6 + ["the plan does not ask for it any longer"] * 6
