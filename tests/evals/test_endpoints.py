"""Several endpoints in one plan: which runs there are, where they go, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.evals.evaluations import KEY, evaluated, plan_of, recorded, records
from tests.evals.made import record
from tests.evals.provider import Provider, provider
from toolreel._cli import compare_command, summarize_command
from toolreel._internal import ResultsError
from toolreel.evals import (
    Results,
    built_in_scenarios,
    findings_of,
    load_eval_plan,
    plan_of_header,
    replay_runs,
    scrubbed_base_url,
)
from toolreel_core.evals import EvalPlan

SCENARIOS = ["happy_path", "no_tool_fits"]


@pytest.fixture
def one() -> Generator[Provider]:
    with provider(kinds=("good",)) as told:
        yield told


@pytest.fixture
def other() -> Generator[Provider]:
    with provider(kinds=("bad",)) as told:
        yield told


def at(one: Provider, other: Provider, **axes: Any) -> EvalPlan:  # noqa: ANN401 - what is in a plan file
    """One model at two endpoints, at the second under another name and pinned to a quantisation."""
    tables: dict[str, Any] = {
        "eval": {"add_models": ["open/model"], "scenarios": SCENARIOS, "trials": 2, **axes},
        "endpoints": {
            "one": {"base_url": one.url, "api_key_env": "EVAL_KEY"},
            "other": {
                "base_url": other.url,
                "headers": {"X-Team": "evals"},
                "models": {"open/model": "model-fp8"},
                "request_overrides": {"provider": {"quantizations": ["fp8"]}},
            },
        },
    }
    return load_eval_plan(None, tables, environ={})


def sent(there: Provider) -> set[tuple[str | None, ...]]:
    """Model, pinned providers, key and team of all requests."""
    found = set[tuple[str | None, ...]]()
    for request in there.requests:
        body, headers = json.loads(request.body), request.headers
        pinned = json.dumps(body["provider"]) if "provider" in body else None
        found.add((body["model"], pinned, headers.get("authorization"), headers.get("x-team")))
    return found


def test_every_run_is_made_at_each_endpoint_under_the_name_that_the_model_has_there(
    one: Provider, other: Provider, tmp_path: Path
) -> None:
    plan = at(one, other)
    outcome = evaluated(plan, tmp_path)
    assert (plan.count, outcome.made, outcome.complete) == (8, 8, True)
    found = [*records(tmp_path).values()]
    assert {(tree["endpoint"], tree["attempts"][0]["base_url"]) for tree in found} == {
        ("one", one.url),
        ("other", other.url),
    }
    assert {(tree["model"], tree["endpoint"], tree["result"]) for tree in found} == {
        ("open/model", "one", "pass"),
        ("open/model", "other", "fail"),
    }
    assert sent(one) == {("open/model", None, f"Bearer {KEY}", None)}
    assert sent(other) == {("model-fp8", '{"quantizations": ["fp8"]}', None, "evals")}
    results = Results.open(tmp_path)
    again = plan_of_header(results.header)
    assert again.tree() == plan.tree()
    assert [each.drift for each in replay_runs(results, again)] == [""] * 8
    for each in results.records():
        assert (tmp_path / each.cassette).is_file()


def test_endpoints_are_compared_by_trial_and_shown_in_tables(
    one: Provider, other: Provider, tmp_path: Path
) -> None:
    evaluated(at(one, other), tmp_path)
    done = CliRunner().invoke(compare_command, [str(tmp_path), "--by", "endpoint", "one", "other", "--json"])
    assert done.exit_code == 0, done.output
    tree = json.loads(done.stdout)
    assert tree["rows"][0]["pairs"]["lost"] == 4
    shown = CliRunner().invoke(summarize_command, [str(tmp_path)]).stdout
    assert f"endpoint: one={one.url}, other={other.url}" in shown
    head, _, *rows = shown.split("models and strategies\n")[1].splitlines()
    assert [line.split(" | ")[2].strip() for line in (head, *rows[:2])] == ["endpoint", "one", "other"]
    summed = json.loads((tmp_path / "summary.json").read_text())
    assert [row["model"] for row in summed["models"]] == ["open/model:one", "open/model:other"]
    assert summed["endpoints"] == {"one": one.url, "other": other.url}


def test_a_slow_endpoint_does_not_slow_the_other(one: Provider, other: Provider, tmp_path: Path) -> None:
    """Each has a limit of its own, and both are asked in turn."""
    other.down = True
    outcome = evaluated(at(one, other, void_retries=0), tmp_path)
    assert (outcome.made, outcome.void) == (8, 4)
    assert {tree["endpoint"] for tree in records(tmp_path).values() if tree["result"] == "void"} == {"other"}
    order = [each.cell.endpoint for each in Results.open(tmp_path).records()]
    assert order == ["one", "other"] * 4


def test_runs_of_another_server_are_not_mixed_in(one: Provider, other: Provider, tmp_path: Path) -> None:
    """But what the provider failed may be repeated elsewhere: a void run is in no figure."""
    one.down = True
    evaluated(plan_of(one.url, eval={"void_retries": 0}), tmp_path / "down")
    assert evaluated(plan_of(other.url), tmp_path / "down").complete
    one.down, came = False, other.came
    evaluated(plan_of(one.url, eval={"trials": 1}), tmp_path)
    with pytest.raises(ResultsError) as refused:
        evaluated(plan_of(other.url), tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: the endpoint was at {one.url} when its runs were made, and is at {other.url} now; "
        "evaluate into another directory, or give each server a table [endpoints.NAME]"
    )
    assert other.came == came


def test_no_credentials_of_a_url_are_recorded() -> None:
    plan = plan_of("http://127.0.0.1:9")
    hidden = replace(plan.endpoint, base_url="http://me:hunter2@a.test/v1?api_key=hunter2&region=eu")
    told = scrubbed_base_url(replace(plan, options=replace(plan.options, endpoints={"": hidden})), "")
    assert told == "http://a.test/v1?api_key=REDACTED&region=eu"


def test_models_are_compared_at_every_endpoint_and_not_only_at_the_last(tmp_path: Path) -> None:
    """One of two models fails at the first endpoint alone, in eight scenarios."""
    names = [scenario.name for scenario in built_in_scenarios() if not scenario.control][:8]
    urls = {name: {"base_url": f"http://{name}.test"} for name in ("one", "two")}
    tables: dict[str, Any] = {
        "eval": {"add_models": ["good/model", "bad/model"], "scenarios": names},
        "endpoints": urls,
    }
    plan = load_eval_plan(None, tables, environ={})
    runs = [
        record("fail" if (cell.model, cell.endpoint) == ("bad/model", "one") else "pass", cell)
        for cell in (sample.cell for sample in plan.samples())
    ]
    recorded(tmp_path, plan, runs)
    results = Results.open(tmp_path)
    assert len(results.records()) == plan.count == 32
    (found,) = findings_of(results.trials(plan), plan).contrasts["models"]
    assert (found.first, found.second) == ("good/model", "bad/model")
    assert (found.difference.difference, found.difference.runs) == (-0.5, 16)
