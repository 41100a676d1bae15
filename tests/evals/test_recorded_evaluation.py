"""The evaluations of a real model under cassettes/evals, run by run and as a whole, without a network."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from toolreel._secrets import leaks
from toolreel.evals import (
    Results,
    plan_of_header,
    plan_results,
    proof_of,
    read_scenarios,
    replays,
    write_summaries,
)

EVALUATIONS = Path(__file__).parents[2] / "cassettes" / "evals"
DOCS = Path(__file__).parents[2] / "docs"
NAMES = tuple(sorted(path.parent.name for path in EVALUATIONS.glob("*/header.json")))
FILES = (
    "summary.json",
    "summary_by_scenario.json",
    "summary_by_scenario_and_strategy.json",
)


@pytest.fixture(scope="module", params=NAMES)
def results(request: pytest.FixtureRequest) -> Results:
    return Results.open(EVALUATIONS / str(request.param))


def test_every_run_is_as_it_was_recorded_and_judged_as_it_was(results: Results) -> None:
    again = [*replays(results, plan_of_header(results.header))]
    assert len(again) == len(results) == plan_of_header(results.header).count
    assert [one.drift for one in again if one.drift] == []


def test_it_is_summed_up_to_the_same_bytes(results: Results, tmp_path: Path) -> None:
    copied = tmp_path / results.path.name
    copied.mkdir()
    for name in ("header.json", "journal.jsonl"):
        shutil.copy(results.path / name, copied)
    write_summaries(Results.open(copied), plan_of_header(results.header))
    for name in FILES:
        assert (copied / name).read_bytes() == (results.path / name).read_bytes(), name


def test_nothing_of_it_holds_a_secret_or_a_path_of_the_machine_it_was_made_on(results: Results) -> None:
    for path in filter(Path.is_file, results.path.rglob("*")):
        text = path.read_text(encoding="utf-8")
        assert leaks(text, {}) == (), path
        assert not re.search(r"/root/|/home/|/Users/|[A-Z]:\\\\", text), path


def test_both_gates_hold_and_the_one_that_was_put_right_after_the_runs_says_so() -> None:
    results = Results.open(EVALUATIONS / "weak")
    plan = plan_of_header(results.header)
    first, second = plan_results(plan, results.trials(plan), results.header)
    assert (first.standing, second.standing) == ("passed", "passed")
    assert ("after the runs" in first.sentence, "after the runs" in second.sentence) == (False, True)


def test_the_scenarios_for_finding_settings_prove_their_checks() -> None:
    assert [
        one.name for one in read_scenarios(EVALUATIONS / "finding.jsonl") if not proof_of(one).holds
    ] == []


def test_the_page_tells_the_rates_and_intervals_that_were_measured() -> None:
    page = (DOCS / "weak-models.md").read_text(encoding="utf-8")
    strategies = json.loads((EVALUATIONS / "weak" / "summary.json").read_text())["figures"]["strategies"]
    assert set(strategies) == {"raw", "defaults", "production"}
    for name, figures in strategies.items():
        low, high = (format(100 * figures["interval"][side], ".1f") for side in ("low", "high"))
        row = f"| `{name}` | {figures['ok']} of {figures['valid']} | {low} to {high} % | {figures['pass']} |"
        assert row in page


def test_the_page_tells_how_each_task_for_finding_ended() -> None:
    page = (DOCS / "weak-models.md").read_text(encoding="utf-8")
    ended: dict[str, dict[str, str]] = {}
    for name in ("finding", "finding-withheld"):
        for record in Results.open(EVALUATIONS / name).records():
            ended.setdefault(record.cell.scenario, {})[record.cell.strategy] = record.verdict.result
    assert len(ended) == 16
    for scenario, results in ended.items():
        cells = ["yes" if result == "pass" else "no" for result in results.values()]
        assert list(results) == ["production", "final", "claim", "withhold"]
        assert f"| `{scenario}` | {' | '.join(cells)} |" in page
