from __future__ import annotations

from tests.docs.scenarios_page import CHECKS, PAGE, scenario_rows
from toolreel.evals import built_in_scenarios, scenario_groups


def test_the_page_has_the_scenarios_of_the_catalogue() -> None:
    """What it says of adversaries is compared where they are run, in test_adversaries.py."""
    text = PAGE.read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `") and line.count("|") == 5]
    assert rows == [*scenario_rows()], "write it with `python -m tests.docs.scenarios_page`"
    for name in sorted(CHECKS):
        assert f"| `{name}` | {CHECKS[name]} |" in text


def test_every_check_is_explained_and_every_explanation_needed() -> None:
    used = {check.name for one in built_in_scenarios() for check in one.begin("1").checks} - {"answer"}
    assert used == CHECKS.keys()


def test_the_packs_of_production_are_named() -> None:
    text = PAGE.read_text("utf-8")
    packs = {one.pack for one in built_in_scenarios() if one.name in scenario_groups()["production"]}
    assert all(f"`{pack}`" in text for pack in packs)
