"""Oracles hold: whoever exploits them fails, in at least nine of ten scenarios of tools."""

from __future__ import annotations

import pytest

from tests.domain.evals.scenarios.adversaries import ADVERSARIES, TARGETS, Adversary, best_result

SEEDS = ("2", "3", "4")
RESTRAINT = {one.name for one in TARGETS if one.pack == "restraint"}
"""Here the right text without any tool is the right answer, and there is no order of calls."""


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda one: one.__name__)
def test_an_adversary_passes_next_to_nothing(adversary: Adversary) -> None:
    passed = {one.name for one in TARGETS for seed in SEEDS if best_result(adversary, one, seed) == "pass"}
    assert len(passed) <= len(TARGETS) / 10
    assert passed <= RESTRAINT
