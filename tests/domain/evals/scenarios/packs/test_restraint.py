from __future__ import annotations

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals._scenarios.packs.restraint import RESTRAINT
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import call, script


@pytest.mark.parametrize("one", RESTRAINT, ids=lambda one: one.name)
def test_calling_nothing_is_right_although_tools_are_there(one: Scenario) -> None:
    found = rehearse(one, script("I would rather not."))
    assert found.bodies[0]["tools"]
    assert found.verdict.result == "pass"


@pytest.mark.parametrize("one", RESTRAINT, ids=lambda one: one.name)
def test_even_a_call_that_fails_is_one_too_many(one: Scenario) -> None:
    found = rehearse(one, script(call("nowhere"), "I tried."))
    assert found.verdict.category == "task.outcome:no_calls"
