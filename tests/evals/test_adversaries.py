"""Oracles hold: no script that exploits them passes where it should not, and the page says so."""

from __future__ import annotations

import pytest

from tests.architecture.document import SCENARIOS
from tests.docs.scenarios_page import SHOWN, first_line, is_right, results_of
from tests.evals.adversaries import ADVERSARIES, SEEDS, TARGETS


@pytest.mark.parametrize(
    "seed", [SEEDS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in SEEDS[1:])]
)
@pytest.mark.parametrize("number", range(1, len(ADVERSARIES) + 1))
def test_an_adversary_passes_only_where_it_is_right_and_the_page_says_so(number: int, seed: str) -> None:
    """Column by column, so that no process tries all adversaries once more; in each draw it is the same."""
    adversary = ADVERSARIES[number - 1]
    results = results_of(adversary, (seed,))
    passed = {name for name, result in results.items() if result == "pass"}
    assert passed == {one.name for one in TARGETS if is_right(adversary, one)}
    text = SCENARIOS.read_text("utf-8")
    assert f"\n{len(ADVERSARIES)} adversaries try" in text
    assert f"\n{number}. {first_line(adversary)}\n" in text
    head, _, *rows = [
        line.strip("| ").split(" | ")
        for line in text.partition("## What fools them")[2].splitlines()
        if line.startswith("|")
    ]
    assert head == ["scenario", *(str(each) for each in range(1, len(ADVERSARIES) + 1))]
    column = {row[0]: row[number] for row in rows}
    wanted = {f"`{name}`": SHOWN[result] for name, result in results.items()}
    assert column == wanted, "python -m tests.docs.scenarios_page"
