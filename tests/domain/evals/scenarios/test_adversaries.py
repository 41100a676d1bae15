"""Oracles hold: no script that exploits them passes where it should not, and the page says so."""

from __future__ import annotations

import pytest

from tests.docs.scenarios_page import PAGE, adversary_rows, is_right, results_of
from tests.domain.evals.scenarios.adversaries import ADVERSARIES, TARGETS, Adversary


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda one: one.__name__)
def test_an_adversary_passes_only_where_it_is_right(adversary: Adversary) -> None:
    passed = {name for name, result in results_of(adversary).items() if result == "pass"}
    assert passed == {one.name for one in TARGETS if is_right(adversary, one)}


def test_the_page_has_every_scenario_and_adversary() -> None:
    assert len(ADVERSARIES) >= 12
    text = PAGE.read_text("utf-8")
    for row in adversary_rows():
        assert row in text, "python -m tests.docs.scenarios_page"
