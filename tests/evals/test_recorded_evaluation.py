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
    replay_runs,
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
    again = [*replay_runs(results, plan_of_header(results.header))]
    assert len(again) == len(results.records()) == plan_of_header(results.header).count
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


@pytest.mark.parametrize("name", ["weak", "weak-controls"])
def test_both_gates_hold_and_were_set_before_the_runs(name: str) -> None:
    results = Results.open(EVALUATIONS / name)
    plan = plan_of_header(results.header)
    gates = plan_results(plan, results.trials(plan))
    assert [one.standing for one in gates] == ["passed", "passed"]
    assert not [one.sentence for one in gates if "after the runs" in one.sentence]


@pytest.mark.parametrize("name", ["finding.jsonl", "controls.jsonl"])
def test_its_own_scenarios_prove_their_checks(name: str) -> None:
    assert [one.name for one in read_scenarios(EVALUATIONS / name) if not proof_of(one, 4).holds] == []


@pytest.mark.parametrize("name", ["weak", "weak-controls"])
def test_the_page_tells_the_rates_and_intervals_that_were_measured(name: str) -> None:
    page = (DOCS / "weak-models.md").read_text(encoding="utf-8")
    strategies = json.loads((EVALUATIONS / name / "summary.json").read_text())["figures"]["strategies"]
    records = [*Results.open(EVALUATIONS / name).records()]
    assert set(strategies) == {"raw", "defaults", "production"}
    for strategy, figures in strategies.items():
        low, high = (format(100 * figures[side], ".1f") for side in ("lower_bound", "upper_bound"))
        called = len([one for one in records if one.cell.strategy == strategy and one.calls])
        last = called if name == "weak-controls" else figures["pass"]
        row = f"| `{strategy}` | {figures['ok']} of {figures['valid']} | {low} to {high} % | {last} |"
        assert row in page


def test_the_page_tells_how_each_task_for_finding_ended() -> None:
    page = (EVALUATIONS / "README.md").read_text(encoding="utf-8")
    ended = {one.cell.scenario: one.verdict.result for one in Results.open(EVALUATIONS / "finding").records()}
    assert len(ended) == 16
    for scenario, result in ended.items():
        assert f"| `{scenario}` | {'yes' if result == 'pass' else 'no'} |" in page
