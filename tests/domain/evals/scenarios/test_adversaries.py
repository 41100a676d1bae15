"""Oracles hold: scripts that exploit them fail, in at least nine of ten scenarios of tools."""

from __future__ import annotations

import pytest

from tests.docs.scenarios_page import PAGE, adversary_row, results_of
from tests.domain.evals.scenarios.adversaries import ADVERSARIES, TARGETS, Adversary, best_result, exploiter
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.version_1.all_scenarios import VERSION_1

RESTRAINT = {one.name for one in TARGETS if one.pack == "restraint"}
"""Here the right text without any tool is the right answer, and there is no order of calls."""


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda one: one.__name__)
def test_an_adversary_passes_next_to_nothing_and_the_page_says_so(adversary: Adversary) -> None:
    passed = {name for (name, _), result in results_of(adversary).items() if result == "pass"}
    assert len(passed) <= len(TARGETS) / 10
    assert passed <= RESTRAINT
    assert adversary_row(adversary) in PAGE.read_text("utf-8"), "python -m tests.docs.scenarios_page"


@pytest.mark.parametrize("one", [one for one in VERSION_1 if not one.control], ids=lambda one: one.name)
def test_the_exploiter_can_do_what_it_is_for(one: Scenario) -> None:
    """It passes whatever does not change from trial to trial."""
    assert best_result(exploiter, one, "2") == "pass"
