"""Drift: a stored evaluation, repeated at a server that behaves as it did, that got worse, or in between."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evals.provider import Provider, provider
from tests.evals.trying import KEY, evaluated, plan_of
from toolreel._cli.evals.compare import compare_command
from toolreel._cli.evals.drift import drift_command
from toolreel.evals._drift.repetition import repetition
from toolreel.evals._runner.plan_loader import planned
from toolreel.evals._store.results import Results
from toolreel_core.evals._scenarios.scripted_model import Kind

GOOD: tuple[Kind, ...] = ("good",)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A model that passes everything: eight trials of three scenarios."""
    with provider(kinds=GOOD) as far:
        plan = plan_of(far.url, eval={"add_models": ["open/model"], "trials": 8, "jobs": 4})
        evaluated(plan, tmp_path / "stored")
    return tmp_path / "stored"


def drift(stored: Path, far: Provider, *options: str, out: str = "again") -> Result:
    where = ("--base-url", far.url, "--api-key-env", "EVAL_KEY", "--out", str(stored.parent / out))
    return CliRunner().invoke(drift_command, [str(stored), *where, *options], env={"EVAL_KEY": KEY})


def told(done: Result, code: int) -> Any:  # noqa: ANN401 - JSON
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_a_server_that_behaves_as_recorded_is_the_same(stored: Path) -> None:
    with provider(kinds=GOOD) as far:
        tree = told(drift(stored, far, "--margin", "0.2", "--json"), 0)
        assert (tree["verdict"], tree["whole"]["verdict"]) == ("same", "equivalent")
        assert (tree["identical"], tree["recorded_pairs"], tree["diverging"]) == (24, 24, [])
        assert json.loads((stored.parent / "again/drift.json").read_text())["verdict"] == "same"
        assert {headers["authorization"] for headers, _ in far.seen} == {f"Bearer {KEY}"}
        came = far.came
        done = drift(stored, far, "--margin", "0.2")
        assert far.came == came, "nothing is repeated again"
    lines = done.stdout.splitlines()
    assert lines[0] == "The same: it still is what it was."
    assert lines[1].startswith("all tool runs: equivalent within 20 points: the difference is +0.0 points (")
    assert lines[2] == "24 of 24 recorded pairs are the same, call by call"


def test_one_that_got_worse_has_drifted_and_the_scenarios_are_named(stored: Path) -> None:
    with provider(kinds=("bad",)) as far:
        tree = told(drift(stored, far, "--json"), 1)
        shown = drift(stored, far).stdout
    assert (tree["verdict"], tree["whole"]["verdict"]) == ("drifted", "different")
    worse = {each["scenario"]: (each["before"]["ok"], each["now"]["ok"]) for each in tree["scenarios"]}
    assert worse["happy_path"] == (8, 0)
    assert all(each["p_holm"] <= 0.05 for each in tree["scenarios"])
    first = next(each for each in tree["diverging"] if each["scenario"] == "happy_path")
    assert (first["flip"], first["turn"], first["recorded"]) == ("lost", 1, True)
    assert first["first"].startswith("state_get(")
    assert "Drifted: it is no longer what it was." in shown
    assert "scenarios that drifted" in shown
    assert "pairs that ended differently" in shown


def test_one_in_between_is_undecided_and_it_says_what_would_decide(stored: Path) -> None:
    with provider(kinds=GOOD) as far:
        few = told(drift(stored, far, "--trials", "1", "--margin", "0.2", "--json", out="few"), 3)
        shown = drift(stored, far, "--trials", "1", "--margin", "0.2", out="few").stdout
    assert (few["verdict"], few["whole"]["runs"], few["recorded_pairs"]) == ("undecided", 3, 3)
    assert few["whole"]["needed"] > 3
    assert f"about {few['whole']['needed']} pairs would decide" in shown
    half: tuple[Kind, ...] = (*GOOD * 8, "bad")
    with provider(kinds=half) as far:
        tree = told(drift(stored, far, "--margin", "0.2", "--json"), 3)
    assert (tree["verdict"], tree["scenarios"]) == ("undecided", [])
    assert -0.3 < tree["whole"]["difference"] < 0
    assert 0 < len(tree["diverging"]) < 6


def test_runs_that_the_provider_failed_leave_it_open_and_are_made_the_next_time(stored: Path) -> None:
    with provider(kinds=GOOD) as far:
        far.refused = "open/model"
        tree = told(drift(stored, far, "--margin", "0.2", "--json"), 3)
        assert (tree["verdict"], tree["lacking"], tree["whole"]) == ("undecided", 24, None)
        assert "24 runs are missing or void" in drift(stored, far, "--margin", "0.2").stdout
        far.refused = ""
        assert told(drift(stored, far, "--margin", "0.2", "--json"), 0)["verdict"] == "same"


def test_another_server_gets_no_key_and_no_header_of_the_old_one(tmp_path: Path) -> None:
    with provider(kinds=GOOD) as far, provider(kinds=GOOD) as other:
        headers = {"headers": {"X-Team": "evals"}}
        evaluated(plan_of(far.url, eval={"trials": 1}, endpoint=headers), tmp_path / "stored")
        run = ["--base-url", other.url, "--out", str(tmp_path / "again")]
        CliRunner().invoke(drift_command, [str(tmp_path / "stored"), *run], env={"EVAL_KEY": KEY})
        assert other.seen
        assert not any({"authorization", "x-team"} & {*headers} for headers, _ in other.seen)


def test_a_named_endpoint_can_be_repeated_by_itself(tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    with both() as (one, other):
        tables: dict[str, Any] = {
            "eval": {"add_models": ["open/model"], "scenarios": ["happy_path"], "trials": 2},
            "endpoints": {"one": {"base_url": one.url}, "other": {"base_url": other.url}},
        }
        evaluated(planned(None, tables, environ={}), stored)
        came = one.came
        out = ["--out", str(tmp_path / "again"), "--margin", "0.9", "--json"]
        done = CliRunner().invoke(drift_command, [str(stored), "--endpoint", "other", *out])
        assert told(done, 0)["recorded_pairs"] == 2
        assert one.came == came
        wrong = CliRunner().invoke(drift_command, [str(stored), "--endpoint", "ohter", *out])
        assert "there is no endpoint 'ohter'; did you mean 'other'" in wrong.stderr
        wrong = CliRunner().invoke(drift_command, [str(stored), "--base-url", one.url, *out])
        assert "--base-url: name one of the endpoints with --endpoint: one, other" in wrong.stderr
        moved = repetition(Results.open(stored), endpoint="other", base_url=one.url)
        assert (moved.endpoints, moved.endpoint.base_url) == (("other",), one.url)


def test_an_endpoint_that_got_better_does_not_hide_one_that_got_worse(tmp_path: Path) -> None:
    """Together they pass as often as before."""
    stored, again = tmp_path / "stored", tmp_path / "again"
    axes = {"add_models": ["open/model"], "scenarios": ["happy_path", "no_tool_fits"], "trials": 8, "jobs": 4}
    with provider(kinds=GOOD) as one, provider(kinds=("bad",)) as other:
        tables: dict[str, Any] = {
            "eval": axes,
            "endpoints": {"one": {"base_url": one.url}, "other": {"base_url": other.url}},
        }
        evaluated(planned(None, tables, environ={}), stored)
        one.kinds, other.kinds = ("bad",), GOOD
        done = CliRunner().invoke(drift_command, [str(stored), "--out", str(again), "--json"])
        shown = CliRunner().invoke(drift_command, [str(stored), "--out", str(again)]).stdout
        still = CliRunner().invoke(
            drift_command, [str(stored), "--endpoint", "other", "--out", str(tmp_path / "alone"), "--json"]
        )
    tree = told(done, 1)
    found = {each["endpoint"]: each for each in tree["served"]}
    assert {name: each["verdict"] for name, each in found.items()} == {"one": "drifted", "other": "drifted"}
    assert found["one"]["whole"]["difference"] < 0 < found["other"]["whole"]["difference"]
    assert tree["whole"] is None
    assert {each["endpoint"] for each in tree["scenarios"]} == {"one", "other"}
    assert "open/model at one drifted: different: by -" in shown
    assert "open/model at other | " in shown
    assert [each["endpoint"] for each in told(still, 1)["served"]] == ["other"]


@contextmanager
def both() -> Generator[tuple[Provider, Provider]]:
    with provider(kinds=GOOD) as one, provider(kinds=GOOD) as other:
        yield one, other


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--trials", "9"], "has 8 trials of each cell, not 9; name fewer"),
        (["--endpoint", "x"], "--endpoint x: the plan has no tables [endpoints.NAME]; use --base-url"),
        (["--margin", "5"], "0<x<1"),
    ],
)
def test_what_cannot_be_repeated_is_refused_before_a_request(
    options: list[str], why: str, stored: Path
) -> None:
    with provider() as far:
        done = drift(stored, far, *options)
        assert (done.exit_code, far.came) == (2, 0)
    assert why in done.stderr
    same = CliRunner().invoke(drift_command, [str(stored), "--out", str(stored)])
    assert "is what is to be repeated; name another directory" in same.stderr


def test_another_configuration_is_no_drift_of_the_endpoint(stored: Path) -> None:
    path = stored / "header.json"
    header = json.loads(path.read_text())
    header["plan"]["options"]["loop"] = {"max_turns": 3}
    path.write_text(json.dumps(header))
    with provider() as far:
        done = drift(stored, far)
        assert (done.exit_code, far.came) == (2, 0)
    assert "would be run under another configuration now:\n  config.max_turns: " in done.stderr


def test_endpoints_are_equivalent_different_or_undecided(tmp_path: Path) -> None:
    with both() as (one, other), provider(kinds=("bad",)) as bad:
        tables: dict[str, Any] = {
            "eval": {"add_models": ["open/model"], "scenarios": ["happy_path", "no_tool_fits"], "trials": 10},
            "endpoints": {
                name: {"base_url": far.url} for name, far in (("one", one), ("other", other), ("bad", bad))
            },
        }
        evaluated(planned(None, tables, environ={}), tmp_path)

    def compared(*words: str, code: int) -> Any:  # noqa: ANN401 - JSON
        arguments = [str(tmp_path), "--by", "endpoint", *words, "--json"]
        return told(CliRunner().invoke(compare_command, arguments), code)

    same = compared("one", "other", "--equivalence", "0.2", code=0)
    assert (same["equivalence"]["verdict"], same["diverging"]) == ("equivalent", [])
    few = compared("one", "other", "--equivalence", "0.01", code=3)
    assert few["equivalence"]["verdict"] == "undecided"
    assert few["equivalence"]["needed"] > 20
    lost = compared("one", "bad", "--equivalence", "0.2", code=1)
    assert lost["equivalence"]["verdict"] == "different"
    assert {(each["flip"], each["turn"]) for each in lost["diverging"]} >= {("lost", 1)}
    shown = CliRunner().invoke(compare_command, [str(tmp_path), "--by", "endpoint", "one", "bad"]).stdout
    assert "pairs that ended differently" in shown
