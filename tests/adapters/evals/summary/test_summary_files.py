"""Summaries on disk: the reference's files with intervals next to the rates, the same live and read again."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evals.directories import evaluated, plan_with, read, recorded
from tests.evals.made import CELL, cell, record
from toolreel._internal import ResultsError
from toolreel.evals import (
    Results,
    as_junit,
    as_markdown,
    check_gates,
    compare,
    findings_of,
    gates_of,
    interval_text,
    plan_of_header,
    read_sides,
    report_content,
    report_page,
    summary_tables,
    total_of,
    values_of,
    write_atomically,
    write_summaries,
)
from toolreel_core._errors import ConfigError
from toolreel_core.evals import METRICS, GateResult, Record, Result, Verdict

FILES = (
    "summary.json",
    "summary_by_scenario.json",
    "summary_by_scenario_and_strategy.json",
)
SCENARIOS = ("happy_path", "missing_workspace_id", "type_error_recovery", "chat_only")


def runs(strategy: str, results: str, scenario: str = "happy_path", **axes: str) -> list[Record]:
    """Trials of one cell: a letter each for pass, unexercised, fail, refused and void."""
    names: dict[str, Result] = {
        "p": "pass",
        "x": "pass_unexercised",
        "f": "fail",
        "r": "unsupported",
        "v": "void",
    }
    at = cell(strategy=strategy, scenario=scenario, **axes)
    return [record(names[each], at, trial) for trial, each in enumerate(results, 1)]


def summed(out: Path) -> tuple[dict[str, Any], Results]:
    results = Results.open(out)
    write_summaries(results, plan_of_header(results.header))
    return read(out / "summary.json"), results


def results(out: Path) -> tuple[GateResult, ...]:
    results = Results.open(out)
    plan = plan_of_header(results.header)
    return check_gates(gates_of(plan), write_summaries(results, plan), plan)


def test_what_is_written_live_is_written_again_byte_for_byte(tmp_path: Path) -> None:
    plan = plan_with("scripted:good", "scripted:bad", strategies=["raw", "production"], trials=2)
    out = evaluated(tmp_path / "one", plan)
    write_summaries(Results.open(out), plan)
    live = {name: (out / name).read_bytes() for name in FILES}
    journal = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(b"".join(reversed(journal)))
    summed(out)
    assert {name: (out / name).read_bytes() for name in FILES} == live
    assert not [*out.glob(".*")], "no draft is left behind"


def test_rates_have_intervals_and_repeated_trials_their_denominators(tmp_path: Path) -> None:
    plan = plan_with(CELL.model, strategies=["raw", "production"], scenarios=[*SCENARIOS], trials=2)
    records = [
        *(one for name in SCENARIOS for one in runs("raw", "pp" if name != "happy_path" else "pf", name)),
        *(
            one
            for name in SCENARIOS
            for one in runs("production", "px" if name != "happy_path" else "pv", name)
        ),
    ]
    tree, _ = summed(recorded(tmp_path, plan, records))
    raw, production = tree["models"]
    assert (raw["tool_ok"], raw["tool_valid"], raw["control_ok"]) == (5, 6, 2)
    assert raw["tool_interval"] == tree["figures"]["strategies"]["raw"]["interval"]
    assert raw["tool_interval"]["method"].startswith("Gaffke over scenarios")
    assert raw["cells"]["happy_path"]["interval"]["confidence"] == 0.95
    assert production["cells"]["happy_path"]["void"] == 1
    strategies = tree["figures"]["strategies"]
    assert strategies["raw"]["pass_hat_k"] == {"k": 2, "rate": 2 / 3, "cells": 3, "left_out": 0}
    assert strategies["production"]["pass_hat_k"] == {"k": 2, "rate": 1.0, "cells": 2, "left_out": 1}
    assert strategies["production"]["exercised_rate"] == (1 + 1 / 2 + 1 / 2) / 3, "each cell once"
    assert strategies["production"]["rate"] == 1.0
    assert strategies["raw"]["clusters"] == 3
    assert tree["figures"]["strategy_p_values"] == [{"first": "raw", "second": "production", "p_holm": 1.0}]
    assert tree["figures"]["taxonomy"]["production"] == {
        "task.exercise:state_get_first": 3,
        "transport.rate_limit": 1,
    }
    assert tree["figures"]["notes"] == [
        "strategies are compared on 3 scenarios; with fewer than 6, no difference is significant"
    ]


def test_models_with_several_profiles_are_candidates_with_each(tmp_path: Path) -> None:
    model = "qwen/qwen3-30b-a3b-instruct-2507:nitro"
    plan = plan_with("scripted:good", model, profiles=["default", "qwen_recommended"])
    records = [
        *runs("production", "p", model=model),
        *runs("production", "f", model=model, profile="qwen_recommended"),
        *runs("production", "p", model="scripted:good"),
    ]
    tree, _ = summed(recorded(tmp_path, plan, records))
    assert [*tree["figures"]["models"]] == ["scripted:good", f"{model}:default", f"{model}:qwen_recommended"]


@pytest.mark.parametrize(("scenarios", "apart"), [(6, True), (5, False)])
def test_models_that_differ_on_enough_scenarios_are_told_apart(
    tmp_path: Path, scenarios: int, apart: bool
) -> None:
    """Strategies of one model are alike on a scenario, so that two of them are no two scenarios."""
    names = (
        *("happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard"),
        *("happy_path_parallel", "partial_success_failure"),
    )[:scenarios]
    plan = plan_with("a/good", "a/bad", strategies=["raw", "production"], scenarios=[*names])
    records = [
        one
        for name in names
        for way in ("raw", "production")
        for model, how in (("a/good", "p"), ("a/bad", "f"))
        for one in runs(way, how, name, model=model)
    ]
    tree, _ = summed(recorded(tmp_path, plan, records))
    (found,) = tree["figures"]["model_p_values"]
    assert (found["p_holm"] <= 0.05) is apart


def test_one_rate_has_one_interval(tmp_path: Path) -> None:
    """A model, its only strategy and its only task are the same runs, and so is everything about them."""
    plan = plan_with(CELL.model, strategies=["raw"], scenarios=[*SCENARIOS], trials=3)
    records = [
        one
        for name, how in zip(SCENARIOS, ("ppf", "ppp", "pv", "ppp"), strict=True)
        for one in runs("raw", how, name)
    ]
    tree, results = summed(recorded(tmp_path, plan, records))
    figures, task = tree["figures"], tree["models"][0]
    totals = [figures["whole"], figures["strategies"]["raw"], figures["models"][CELL.model]]
    found = [(one["rate"], one["interval"]) for one in totals] + [(task["tool_rate"], task["tool_interval"])]
    assert found == [found[0]] * 4
    assert found[0][0] == pytest.approx((2 / 3 + 1 + 1) / 3)
    plan_now, content = plan_of_header(results.header), report_content(results)
    shown = {
        interval_text(each.interval) for each in (content.findings.whole.clustered, *content.costs) if each
    }
    tables = summary_tables(content.summary, findings_of(content.summary, plan_now))
    columns = {(table.title, name): place for table in tables for place, name in enumerate(table.head)}
    for title, column in (
        ("model profiles", "tool_95%"),
        ("strategies, without controls", "95%"),
        ("models, without controls", "95%"),
    ):
        rows = next(table.rows for table in tables if table.title == title)
        shown |= {row[columns[title, column]] for row in rows}
    assert len(shown) == 1
    by_scenario = read(results.path / "summary_by_scenario.json")
    for name, cell_tree in task["cells"].items():
        same = ("rate", "low", "high")
        one, other = ({**tree, **(tree["interval"] or {})} for tree in (cell_tree, by_scenario[name]))
        assert [one[key] for key in same] == pytest.approx([other[key] for key in same]), name


def test_passes_after_an_empty_reply_are_shown_as_such(tmp_path: Path) -> None:
    plan = plan_with(CELL.model, strategies=["raw"], scenarios=["happy_path"], trials=3)
    silent = Verdict("fail", "wire.empty_response", ("",))
    lost = Verdict("void", "transport.timeout", ("",))
    first, second, third = runs("raw", "ppf")
    records = [
        replace(first, attempts=(replace(first.attempts[0], verdict=silent), *first.attempts)),
        replace(second, attempts=(replace(second.attempts[0], verdict=lost), *second.attempts)),
        replace(third, attempts=(replace(third.attempts[0], verdict=silent), *third.attempts)),
    ]
    tree, results = summed(recorded(tmp_path, plan, records))
    assert tree["figures"]["whole"]["ok_after_silence"] == 1
    assert tree["models"][0]["cells"]["happy_path"]["ok_after_silence"] == 1
    summary = write_summaries(results, plan)
    strategies = summary_tables(summary, findings_of(summary, plan))[1]
    assert strategies.rows[0][1:3] == ("2/3", "1")
    assert "; 1 of the passes after an empty reply" in report_page(report_content(results))


def test_gates_pass_fail_or_stay_undecided(tmp_path: Path) -> None:
    gates = [
        {"metric": "rate", "strategy": "production", "at_least": 0.9},
        {"metric": "lower_bound", "strategy": "raw", "at_least": 0.85},
        {"metric": "rate", "scenario": "chat_only", "at_least": 0.5},
        {"no_regression_of": "production", "against": "raw"},
        {"no_regression_of": "production", "against": "raw", "about": "these-scenarios"},
        {"no_regression_of": "raw", "against": "production", "margin": 0.9, "about": "these-scenarios"},
    ]
    plan = plan_with(
        *(CELL.model,),
        strategies=["raw", "production"],
        scenarios=["simple"],
        trials=5,
        tables={"gate": gates},
    )
    records = [*runs("raw", "pppff"), *runs("production", "ppppp"), *runs("raw", "ppppp", "chat_only")]
    standings = [one.standing for one in results(recorded(tmp_path, plan, records))]
    assert standings == ["passed", "failed", "undecided", "undecided", "passed", "passed"]


def test_a_gate_about_what_is_not_in_the_plan_is_a_mistake(tmp_path: Path) -> None:
    gate = {"gate": [{"no_regression_of": "production", "against": "naked"}]}
    plan = plan_with(CELL.model, strategies=["raw", "production"], tables=gate)
    with pytest.raises(ConfigError, match="naked"):
        results(recorded(tmp_path, plan, runs("raw", "p")))


def test_gates_of_runs_that_have_not_been_made_are_undecided(tmp_path: Path) -> None:
    gates = [
        {"metric": "rate", "model": "b/missing", "at_least": 0.5},
        {"no_regression_of": "production", "against": "raw"},
    ]
    plan = plan_with(CELL.model, "b/missing", strategies=["raw", "production"], tables={"gate": gates})
    found = results(recorded(tmp_path, plan, runs("raw", "p")))
    assert [one.standing for one in found] == ["undecided", "undecided"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="cannot be written"):
        write_atomically(tmp_path / "file" / "summary.json", "")


def test_junit_has_a_case_for_each_gate_and_one_for_being_complete(tmp_path: Path) -> None:
    gates = [
        {"metric": "rate", "model": CELL.model, "at_least": 0.9},
        {"no_regression_of": "raw", "against": "production"},
        {"no_regression_of": "raw", "against": "production", "margin": 0.1},
    ]
    plan = plan_with(CELL.model, strategies=["raw", "production"], scenarios=["all"], tables={"gate": gates})
    results = Results.open(recorded(tmp_path, plan, runs("raw", "p")))
    found = check_gates(gates_of(plan), write_summaries(results, plan), plan)
    root = ET.fromstring(as_junit(found, "\x1b[31m]]> \ufffe <&").encode())  # noqa: S314 - it is our own
    (suite,) = root
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors")} == {
        "name": "gates",
        "tests": "4",
        "failures": "0",
        "errors": "4",
    }
    assert suite[0][0].get("message") == r"\x1b[31m]]> \ufffe <&"
    assert [(case.get("name"), case[0].tag) for case in suite] == [
        ("complete", "error"),
        ("rate of vendor/model at least 0.9", "error"),
        ("no regression of raw against production", "error"),
        ("raw at most 0.1 worse than production", "error"),
    ], "all of them are undecided"


def test_cells_whose_trials_pass_and_fail_are_listed(tmp_path: Path) -> None:
    plan = plan_with(CELL.model, strategies=["raw"], scenarios=[*SCENARIOS], trials=3)
    records = [*runs("raw", "ppf"), *runs("raw", "ppp", SCENARIOS[1]), *runs("raw", "ffv", SCENARIOS[2])]
    results = Results.open(recorded(tmp_path, plan, records))
    summary = write_summaries(results, plan)
    tables = {table.title: table for table in summary_tables(summary, findings_of(summary, plan))}
    rows = tables["flaky cells: trials pass and fail"].rows
    assert [row[3:5] for row in rows] == [("happy_path", "2/3")]


def test_markdown_shows_what_a_model_wrote_and_obeys_nothing(tmp_path: Path) -> None:
    plan = plan_with(CELL.model, strategies=["raw"], scenarios=["happy_path"])
    odd = record("fail", reasons=("a|b <script>\n# big `code` [x](http://evil)",))
    results = Results.open(recorded(tmp_path, plan, [odd]))
    summary = write_summaries(results, plan)
    page = as_markdown("Runs", ["one_line"], summary_tables(summary, findings_of(summary, plan)))
    assert "# Runs\n\none_line\n\n## model profiles\n\n| model |" in page
    assert r"a\|b \<script\> \# big \`code\` \[x\](http://evil) |" in page
    widths = {line.replace(r"\|", "").count("|") for line in page.splitlines() if line.startswith("| vendor")}
    assert widths == {13, 19}


def test_an_evaluation_of_controls_alone_is_summed_up_and_compared_by_them(tmp_path: Path) -> None:
    plan = plan_with(CELL.model, strategies=["raw", "production"], scenarios=["chat_only"])
    records = [*runs("raw", "p", "chat_only"), *runs("production", "f", "chat_only")]
    out = recorded(tmp_path, plan, records)
    tree, _ = summed(out)
    assert tree["figures"]["whole"]["valid"] == 2
    assert tree["models"][0]["tool_interval"] is None
    first, second = read_sides(out, ["raw", "production"], "strategy")
    assert compare(first.side, second.side, "strategy").whole.pairs.lost == 1


def test_a_gate_can_name_just_what_is_measured() -> None:
    assert (*values_of(total_of("", (), 1)),) == METRICS
