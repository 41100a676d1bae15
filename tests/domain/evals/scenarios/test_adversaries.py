"""Oracles hold: scripts that exploit them fail, in at least nine of ten scenarios of tools."""

from __future__ import annotations

import pytest

from tests.docs.scenarios_page import PAGE, adversary_row, results_of
from tests.domain.evals.scenarios.adversaries import ADVERSARIES, TARGETS, Adversary

RESTRAINT = {one.name for one in TARGETS if one.pack == "restraint"}
"""Here the right text without any tool is the right answer, and there is no order of calls."""


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda one: one.__name__)
def test_an_adversary_passes_next_to_nothing_and_the_page_says_so(adversary: Adversary) -> None:
    passed = {name for (name, _), result in results_of(adversary).items() if result == "pass"}
    assert len(passed) <= len(TARGETS) / 10
    assert passed <= RESTRAINT
    assert adversary_row(adversary) in PAGE.read_text("utf-8"), "python -m tests.docs.scenarios_page"
