"""What the table of trials says: files, totals, recommendations, gates, forecasts; from records that never
ran."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evals.evaluations import plan_with, read, recorded
from tests.evals.made import CELL, cell, record, runs
from tests.samples import worked
from toolreel.evals import (
    GateResult,
    Results,
    Total,
    findings_of,
    gate_forecasts,
    plan_of_header,
    plan_results,
    power_sentence,
    summary_tables,
    write_summaries,
)
from toolreel_core.evals import EvalPlan, Options, Record, gates_of

FILES = ("summary.json", "summary_by_scenario.json", "summary_by_scenario_and_strategy.json")
SCENARIOS = ("happy_path", "missing_workspace_id", "type_error_recovery", "chat_only")


def summed(out: Path) -> tuple[dict[str, Any], Results, EvalPlan]:
    results = Results.open(out)
    plan = plan_of_header(results.header)
    write_summaries(results, plan)
    return read(out / "summary.json"), results, plan


def judged(out: Path) -> tuple[GateResult, ...]:
    results = Results.open(out)
    plan = plan_of_header(results.header)
    return plan_results(plan, results.trials(plan))


def test_a_row_has_the_fields_of_the_reference(tmp_path: Path) -> None:
    records = [
        *runs("raw", "pff"),
        *runs("raw", "p", "chat_only"),
        replace(runs("production", "x")[0], cassette="cassettes/x.yaml"),
        record("void", cell(strategy="production"), 2, status=429, hint="Z: slow down", asked=()),
        *runs("production", "  r"),
    ]
    axes: dict[str, Any] = {
        "strategies": ["raw", "production"],
        "scenarios": ["happy_path", "chat_only"],
        "trials": 3,
    }
    tree, results, _ = summed(recorded(tmp_path, plan_with(CELL.model, **axes), records))
    assert (tree["runs"], tree["ok"], tree["valid"], tree["void"]) == (7, 3, 5, 1)
    assert (tree["complete"], tree["missing"]) == (False, 5)
    raw, production = tree["models"]
    assert (raw["model"], raw["model_base"], raw["strategy"]) == ("vendor/model:raw", "vendor/model", "raw")
    assert (raw["runs"], raw["ok"], raw["tool_runs"], raw["tool_ok"]) == (4, 2, 3, 1)
    assert (raw["control_runs"], raw["control_ok"], raw["control_ok_rate"]) == (1, 1, 1.0)
    assert (production["control_ok_rate"], production["control_ms_p95"]) == (None, 0)
    passed, void, unsupported = production["run_results"]
    assert (passed["ok"], passed["outcome"], passed["error_category"]) == (True, "pass_unexercised", None)
    assert passed["report_path"] == "cassettes/x.yaml"
    assert (void["error_category"], void["error_status"], void["error_hint"]) == (
        *("RATE_LIMIT", 429),
        "Z: slow down",
    )
    assert void["error"] == "transport.rate_limit: because"
    assert unsupported["error_category"] == "NO_TOOL_USE_ENDPOINT"
    by_scenario, by_strategy = (read(results.path / name) for name in FILES[1:])
    assert by_scenario["happy_path"]["errors"] == {
        "ASSERTION_FAILED": 2,
        "NO_TOOL_USE_ENDPOINT": 1,
        "RATE_LIMIT": 1,
    }
    for figure in ("runs", "ok", "pass", "fail", "void", "unsupported"):
        assert sum(row[figure] for row in by_scenario.values()) == tree[figure]
        assert sum(row[figure] for row in tree["models"]) == tree[figure]
        assert sum(row[figure] for rows in by_strategy.values() for row in rows.values()) == tree[figure]


def test_rates_have_intervals_and_repeated_trials_their_denominators(tmp_path: Path) -> None:
    plan = plan_with(CELL.model, strategies=["raw", "production"], scenarios=[*SCENARIOS], trials=2)
    records = [one for name in SCENARIOS for one in runs("raw", "pp" if name != "happy_path" else "pf", name)]
    records += [
        one for name in SCENARIOS for one in runs("production", "px" if name != "happy_path" else "pv", name)
    ]
    tree, results, plan = summed(recorded(tmp_path, plan, records))
    raw, production = tree["models"]
    strategies = tree["figures"]["strategies"]
    assert (raw["tool_ok"], raw["tool_valid"], raw["control_ok"]) == (5, 6, 2)
    interval = raw["tool_interval"]
    whole = strategies["raw"]
    assert (interval["low"], interval["high"]) == (whole["lower_bound"], whole["upper_bound"]), "one rate"
    assert raw["tool_interval"]["method"].startswith("Gaffke over scenarios")
    assert production["void"] == 1
    assert (whole["k"], whole["pass_hat_k"], whole["pass_hat_cells"]) == (2, 2 / 3, [3, 0])
    hat = strategies["production"]
    assert (hat["pass_hat_k"], hat["pass_hat_cells"]) == (1.0, [2, 1])
    assert strategies["production"]["exercised_rate"] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert tree["figures"]["taxonomy"]["production"] == {
        "task.exercise:state_get_first": 3,
        "transport.rate_limit": 1,
    }
    assert tree["figures"]["notes"] == [
        "strategies are compared on 3 scenarios; with fewer than 6, no difference is significant"
    ]
    (found,) = tree["figures"]["strategies_compared"]
    assert (found["first"], found["second"], found["p_value"]) == ("raw", "production", 1.0)
    trials = results.trials(plan)
    titles = [table.title for table in summary_tables(trials, findings_of(trials, plan), ())]
    assert "flaky cells: trials pass and fail" in titles


@pytest.mark.parametrize(("scenarios", "apart"), [(6, True), (5, False)])
def test_models_that_differ_on_enough_scenarios_are_told_apart(
    tmp_path: Path, scenarios: int, apart: bool
) -> None:
    """Strategies of one model are alike on a scenario, so that two of them are no two scenarios."""
    names = [*SCENARIOS[:3], "long_arguments_guard", "happy_path_parallel", "partial_success_failure"]
    names = names[:scenarios]
    plan = plan_with("a/good", "a/bad", strategies=["raw", "production"], scenarios=[*names])
    records = [
        one
        for name in names
        for way in ("raw", "production")
        for model, how in (("a/good", "p"), ("a/bad", "f"))
        for one in runs(way, how, name, model=model)
    ]
    tree, *_ = summed(recorded(tmp_path, plan, records))
    (found,) = tree["figures"]["models_compared"]
    assert (found["p_value"] <= 0.05) is apart
    assert tree["answer"][0].startswith("a/good is the best model" if apart else "Undecided which")


def test_a_model_is_recommended_by_its_interval_and_never_by_its_rate(tmp_path: Path) -> None:
    """Twelve of twelve are enough for three quarters, eleven are not, and two of twelve are too few."""
    outcomes = {
        "yes": "p" * 12,
        "undecided": "p" * 11 + "f",
        "no": "p" * 2 + "f" * 10,
        "conditional": "p" * 12 + "v",
    }
    for wanted, how in {**outcomes, "no ": "r"}.items():
        plan = plan_with(CELL.model, strategies=["raw"], scenarios=["happy_path"], trials=13)
        tree, *_ = summed(recorded(tmp_path / wanted, plan, runs("raw", how)))
        assert tree["models"][0]["recommended"] == wanted.strip()


def test_copies_of_a_trial_are_found_and_said(tmp_path: Path) -> None:
    plan = plan_with(CELL.model, strategies=["raw"], scenarios=[*SCENARIOS[:3]], trials=4)
    records = [one for name in SCENARIOS[:3] for one in runs("raw", "pppp", name)]
    tree, *_ = summed(recorded(tmp_path / "same", plan, records))
    assert "all 9 repeated trials are copies of an earlier one" in tree["warnings"][-1]
    # A model that is always right says the same too: one other reply shows that seeds have an effect.
    others = [*records[:-1], replace(records[-1], final="Done at last.")]
    assert summed(recorded(tmp_path / "other", plan, others))[0]["warnings"] == []


def gated(folder: Path, gates: Sequence[dict[str, Any]], records: Sequence[Record], **axes: Any) -> list[str]:  # noqa: ANN401 - of a plan
    given = {"strategies": ["raw", "production"], "scenarios": ["happy_path"], "trials": 5, **axes}
    plan = plan_with(CELL.model, **given, tables={"gate": [*gates]})
    return [f"{one.standing}: {one.sentence}" for one in judged(recorded(folder, plan, records))]


REGRESSION: dict[str, Any] = {"no_regression_of": "production", "against": "raw"}


def test_gates_pass_fail_or_stay_undecided(tmp_path: Path) -> None:
    gates = [
        {"metric": "rate", "strategy": "production", "at_least": 0.9},
        {"metric": "lower_bound", "strategy": "raw", "at_least": 0.85},
        {"metric": "rate", "scenario": "chat_only", "at_least": 0.5},
        REGRESSION,
        {**REGRESSION, "about": "these-scenarios"},
        {"no_regression_of": "raw", "against": "production", "margin": 0.9, "about": "these-scenarios"},
        {"nothing_broke_in": "raw", "against": "production"},
    ]
    records = [*runs("raw", "pppff"), *runs("production", "ppppp"), *runs("raw", "ppppp", "chat_only")]
    found = gated(tmp_path, gates, records, scenarios=["simple"])
    standings = [each.partition(":")[0] for each in found]
    assert standings == ["passed", "failed", "undecided", "undecided", "passed", "passed", "passed"]
    assert "rate of chat_only at least 0.5: it is 1, but 5 runs are missing." in found[2]
    assert "with 1 scenario no difference can reach 0.05; 6 or more can. On these scenarios alone" in found[3]


@pytest.mark.parametrize(
    ("production", "share"),
    [("pppppprrrr" * 4, "but 16 runs are missing"), ("r" * 40, "nothing compares them")],
)
def test_a_server_that_stops_taking_tools_passes_nothing(tmp_path: Path, production: str, share: str) -> None:
    """It left every denominator, and gates passed at 6 of 40 with a green "complete"."""
    rate: dict[str, Any] = {"metric": "rate", "strategy": "production", "at_least": 0.9}
    gates = [rate, {**REGRESSION, "margin": 0.2}]
    found = gated(tmp_path, gates, [*runs("raw", "p" * 40), *runs("production", production)], trials=40)
    assert [each.partition(":")[0] for each in found] == ["undecided", "undecided"]
    assert share in found[1]
    tree, *_ = summed(tmp_path)
    assert tree["complete"] is (production[0] == "r"), "where nobody took tools, nothing can be repeated"
    assert ("refused tools that other trials were given: 16" in (tree["incomplete"] or "")) is (
        share[4] == "1"
    )


def test_a_gate_about_what_the_plan_lacks_is_undecided(tmp_path: Path) -> None:
    """As in the results of a plan whose gates nobody had checked: everything else of them is shown."""
    misspelt = {"no_regression_of": "production", "against": "raww"}
    gates: list[dict[str, Any]] = [{"metric": "fail", "at_most": 0, "strategy": "raww"}, misspelt]
    figure, test = gated(tmp_path, gates, runs("raw", "f"))
    assert figure == "undecided: fail of raww at most 0: it is not known."
    assert test == "undecided: production is compared with raww, and nothing compares them."


def test_gates_with_too_few_runs_that_say_something_are_undecided(tmp_path: Path) -> None:
    gates = [{"metric": "rate", "at_least": 0.5}, {"metric": "coverage", "at_least": 0.5}]
    records = [*runs("raw", "pp"), *runs("raw", "rr", SCENARIOS[1]), *runs("raw", "vv", SCENARIOS[2])]
    axes = {"strategies": ["raw"], "scenarios": [*SCENARIOS[:3]], "trials": 2}
    refused = {"accept_void": ["transport.rate_limit"]}
    rate, coverage = gated(tmp_path / "few", gates, records, **axes, **refused)
    assert rate.endswith("it is 1, but only 2 of 6 runs say something (33 %), less than min_coverage (90 %).")
    assert coverage.startswith("failed"), "which is about them"
    rate, _ = gated(tmp_path / "enough", gates, records, **axes, **refused, min_coverage=0.3)
    assert rate.startswith("passed")
    tree, *_ = summed(tmp_path / "enough")
    assert (tree["accepted_void"], tree["complete"]) == (2, True)
    assert summed(tmp_path / "few")[0]["incomplete"].startswith("Incomplete: too many runs are void and acc")


def test_what_is_neither_shown_nor_refuted_is_undecided_with_what_it_takes(tmp_path: Path) -> None:
    """It failed in 80 % of unchanged evaluations."""
    names = ["basics", "choice", "chains", "ambiguity", "locale", "unreliable", "exact"]
    plan = plan_with(CELL.model, strategies=["raw", "production"], scenarios=names, trials=4)
    records = [
        one
        for at, scenario in enumerate(plan.scenarios)
        for one in (
            *runs("raw", "pppf" if at % 3 else "pppp", scenario.name),
            *runs("production", "fppp" if at % 4 else "pppp", scenario.name),
        )
    ]
    gates = [{**REGRESSION, "margin": 0.1}, {**REGRESSION, "margin": 0.1, "about": "these-scenarios"}]
    sample, these = gated(tmp_path, gates, records, scenarios=names, trials=4)
    assert sample.startswith("undecided")
    assert "scenarios like these to show so little, and there are 23" in sample
    assert these.startswith("undecided")
    assert "runs like these to show so little, and there are 92" in these


def test_a_scenario_that_worked_and_broke_fails_whatever_the_others_do(tmp_path: Path) -> None:
    gate = {"nothing_broke_in": "production", "against": "raw"}
    names = [*SCENARIOS[:3]]
    records = [one for name in names for one in runs("raw", "p" * 8, name)]
    records += [one for name in names[1:] for one in runs("production", "p" * 8, name)]
    broke = [*records, *runs("production", "f" * 8)]
    (found,) = gated(tmp_path / "broke", [gate], broke, scenarios=names, trials=8)
    assert found.startswith(
        "failed: no scenario that worked under raw may have broken under production: happy_p"
    )
    assert "fell from 8 to 0 of 8 runs (p < 0.001, Holm)" in found
    (found,) = gated(
        tmp_path / "fine", [gate], [*records, *runs("production", "p" * 8)], scenarios=names, trials=8
    )
    assert found.startswith("passed")
    (found,) = gated(tmp_path / "few", [gate], [*runs("raw", "pp"), *runs("production", "pp")], trials=2)
    assert "it takes 4 trials of a cell to see one of 1 break" in found


def test_p_values_are_adjusted_for_the_tests_that_gates_ask_for(tmp_path: Path) -> None:
    names = [*SCENARIOS[:3], "long_arguments_guard", "happy_path_parallel", "partial_success_failure"]
    records = [one for name in names for one in (*runs("raw", "p", name), *runs("production", "f", name))]
    axes = {"scenarios": names, "trials": 1}
    (alone,) = gated(tmp_path / "one", [REGRESSION], records, **axes)
    assert alone.startswith("failed")
    two = [REGRESSION, {**REGRESSION, "about": "these-scenarios"}]
    beside, _ = gated(tmp_path / "two", two, records, **axes)
    assert beside.startswith("failed"), "of these scenarios is another question"
    back = [REGRESSION, {"no_regression_of": "raw", "against": "production"}]
    both = gated(tmp_path / "back", back, records, **axes)
    assert "with 6 scenarios no difference of 2 comparisons can reach 0.05; 7 or more can" in both[0]


def test_a_gate_can_name_just_what_is_measured() -> None:
    for metric in Total.of_trials("", (), 1).metrics:
        assert gates_of(Options.of({"gate": [{"metric": metric, "at_least": 0}]}))


def forecast(gate: dict[str, Any], scenarios: Sequence[str], **axes: Any) -> str:  # noqa: ANN401 - of a plan
    given = {"strategies": ["raw", "production"], "trials": 5, **axes}
    plan = plan_with(CELL.model, scenarios=[*scenarios], **given, tables={"gate": [gate]})
    (found,) = gate_forecasts(plan)
    return found


@pytest.mark.parametrize(("gate", "axes", "told"), worked("the fate of a gate", "evaluations"))
def test_before_the_runs_each_gate_is_told_its_fate(
    gate: dict[str, Any], axes: dict[str, Any], told: str
) -> None:
    found = forecast(gate, axes.pop("scenarios", ["default", "!chat_only"]), **axes)
    assert re.search(told, found), found


def test_the_planner_says_which_difference_can_be_seen() -> None:
    few = plan_with(CELL.model, strategies=["raw", "production"], scenarios=["default"], trials=5)
    assert "with 4 scenarios of 5 pairs each, nothing can be seen, however many trials" in power_sentence(few)
    assert "with 12 scenarios, differences of about 4" in power_sentence(few)
    many = plan_with(CELL.model, strategies=["raw", "production"], scenarios=["everything"], trials=5)
    assert "differences of about 13 points can be seen" in power_sentence(many)
    control = plan_with(CELL.model, scenarios=["chat_only"])
    assert power_sentence(control) == "no tool scenario, so nothing to compare"
