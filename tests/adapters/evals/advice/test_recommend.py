"""Recommendations from evaluations: tables, and catalogues that are read again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Said

from tests.evals.directories import plan_with, recorded
from tests.evals.made import cell, record
from toolreel._cli.evals.group import eval_command
from toolreel.presets._catalogues import shipped
from toolreel_core._plan.presets.collection import Presets
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._verdicts.verdict import Result

WEAK = Path(__file__).parents[4] / "cassettes" / "evals" / "weak"
QWEN = "qwen/qwen3-235b-a22b-2507:nitro"
HER = "minimax/minimax-m2-her"
SCENARIOS = ("happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard")


def recommend(*arguments: object) -> Said:
    return CliRunner().invoke(eval_command, ["recommend", *map(str, arguments)])


def runs(model: str, profile: str, passes: int, result: Result = "fail") -> Iterator[Record]:
    """Five trials of four scenarios, of which this many pass."""
    for place in range(20):
        at = cell(model=model, profile=profile, strategy="production", scenario=SCENARIOS[place % 4])
        yield record("pass" if place < passes else result, at, 1 + place // 4, ms=(1_000 + place,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plan = plan_with(
        *(QWEN, HER, "vendor/new"),
        profiles=["default", "qwen_recommended"],
        strategies=["production"],
        scenarios=[*SCENARIOS],
        trials=5,
    )
    records = [
        *runs(QWEN, "default", 20),
        *runs(QWEN, "qwen_recommended", 8),
        *runs(HER, "default", 0, "unsupported"),
        *runs("vendor/new", "default", 16),
    ]
    return recorded(tmp_path / "results", plan, records)


def test_each_model_is_recommended_by_its_best_profile(folder: Path) -> None:
    told = json.loads(recommend(folder, "--json").stdout)
    found = {one["model"]: one for one in told["models"]}
    assert {name: one["recommended"] for name, one in found.items()} == {
        QWEN: "conditional",
        HER: "no",
        "vendor/new": "undecided",
    }
    assert found[QWEN]["why"] == "not with qwen_recommended"
    assert found[QWEN]["workarounds"] == ["content_tag_tool_call_fallback"]
    # Two profiles, so that the interval of the best is one of 97.5 %.
    assert found[QWEN]["interval"]["confidence"] == pytest.approx(0.975)
    assert found[QWEN]["split_half"] == {"ok": 20, "valid": 20, "rate": 1.0}
    assert found["vendor/new"]["split_half"] == {}


def test_the_best_of_equal_profiles_loses_its_luck_in_the_other_half(tmp_path: Path) -> None:
    """One profile passes in odd trials alone, the other in even ones."""
    plan = plan_with(QWEN, profiles=["default", "qwen_recommended"], scenarios=["happy_path"], trials=4)
    at = {
        name: cell(model=QWEN, profile=name, strategy="production")
        for name in ("default", "qwen_recommended")
    }
    records = [
        record("pass" if (trial % 2 == 0) is (name == "default") else "fail", where, trial)
        for name, where in at.items()
        for trial in range(1, 5)
    ]
    [one] = json.loads(recommend(recorded(tmp_path, plan, records), "--json").stdout)["models"]
    assert (one["ok"], one["valid"]) == (2, 4)
    assert one["split_half"] == {"ok": 0, "valid": 4, "rate": 0.0}


def test_a_catalogue_is_read_again_and_keeps_what_else_is_known(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    assert recommend(folder, "--toml", path).exit_code == 0
    before, after = shipped(), shipped().extended(Presets.of(tomllib.loads(path.read_text("utf-8"))))
    found = after.recommendation(QWEN)
    assert found is not None
    assert (found.verdict, found.profiles) == ("conditional", ("default",))
    assert (found.measured.ok, found.measured.runs, found.measured.p95_ms) == (20, 20, 1_018)
    assert found.measured_on == "2026-11-22"
    old, new = before.model(QWEN), after.model(QWEN)
    assert old is not None
    assert new is not None
    assert (new.patterns, new.provider, new.presets, new.tags) == (
        old.patterns,
        old.provider,
        old.presets,
        old.tags,
    )
    assert after.recommendation("vendor/new") is None
    assert '# "vendor/new" has no recommendation: undecided' in path.read_text("utf-8")


def test_a_real_small_model_is_no_and_the_level_decides() -> None:
    said = recommend(WEAK)
    assert said.exit_code == 0, said.output
    assert "24/24" in said.stdout
    assert "qwen2_5_coder" in said.stdout
    [these] = json.loads(recommend(WEAK, "--json").stdout)["models"]
    assert these["recommended"] == "yes"
    [wide] = json.loads(recommend(WEAK, "--about", "like-these", "--json").stdout)["models"]
    assert wide["recommended"] == "undecided"
    [raw] = json.loads(recommend(WEAK, "--strategy", "raw", "--json").stdout)["models"]
    assert (raw["ok"], raw["without_help"]) == (0, None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--strategy", "row"), "there is no strategy 'row'; did you mean 'raw'?"),
        (("--works", "80"), "--works: expected a share between 0 and 1, got 80"),
    ],
)
def test_mistakes_are_told_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    said = recommend(WEAK, *arguments)
    assert said.exit_code == 2
    assert sentence in said.stderr


def test_markdown_has_the_table(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "models.md"
    assert recommend(folder, "--markdown", page).exit_code == 0
    assert "| model | best profile |" in page.read_text("utf-8")


def test_without_production_a_strategy_is_named(tmp_path: Path) -> None:
    plan = plan_with(QWEN, strategies=["raw", "baseline"], scenarios=["happy_path"])
    both = [record("pass", cell(model=QWEN, strategy=name)) for name in ("raw", "baseline")]
    said = recommend(recorded(tmp_path / "both", plan, both))
    assert (said.exit_code, "--strategy: name one of raw, baseline" in said.stderr) == (2, True)
    assert recommend(recorded(tmp_path / "one", plan, both[:1])).exit_code == 0
    said = recommend(recorded(tmp_path / "none", plan, []))
    assert (said.exit_code, "there are no runs yet" in said.stderr) == (2, True)
    control = recorded(tmp_path / "control", plan, [record("pass", cell(model=QWEN, scenario="chat_only"))])
    said = recommend(control)
    assert (said.exit_code, "there are no runs of tool scenarios" in said.stderr) == (2, True)


@pytest.fixture
def two_endpoints(tmp_path: Path) -> Path:
    """The same model is served well at one endpoint, and without its tools at the other."""
    plan = plan_with(
        *(QWEN,),
        strategies=["raw", "production"],
        scenarios=[*SCENARIOS],
        trials=5,
        tables={
            "endpoints": {
                "router": {"base_url": "http://127.0.0.1:1", "provider": "openrouter"},
                "own": {"base_url": "http://127.0.0.1:2", "provider": "llama_cpp"},
            }
        },
    )
    made = []
    for name, strategy, passes in (("router", "production", 20), ("own", "production", 1), ("own", "raw", 0)):
        for place, one in enumerate(runs(QWEN, "default", passes)):
            at = replace(one.cell, endpoint=name, strategy=strategy)
            made.append(record(one.verdict.result, at, 1 + place // 4))
    return recorded(tmp_path / "results", plan, made)


def test_a_model_has_a_row_for_each_endpoint(two_endpoints: Path) -> None:
    told = json.loads(recommend(two_endpoints, "--json").stdout)
    found = {one["endpoint"]: one for one in told["models"]}
    assert {name: (one["recommended"], one["ok"], one["runs"]) for name, one in found.items()} == {
        "router": ("yes", 20, 20),
        "own": ("no", 1, 20),
    }
    assert {name: one["without_help"] for name, one in found.items()} == {
        "router": None,
        "own": {"ok": 0, "valid": 20, "rate": 0.0},
    }
    shown = recommend(two_endpoints).stdout
    assert [line.split(" | ")[1].strip() for line in shown.splitlines() if line.startswith(QWEN)] == [
        "router",
        "own",
    ]


def test_a_catalogue_is_about_one_endpoint(two_endpoints: Path, tmp_path: Path) -> None:
    both = recommend(two_endpoints, "--toml", tmp_path / "models.toml")
    assert both.exit_code == 2
    assert "a model has one table for all endpoints; name one with --endpoint: router, own" in both.stderr
    assert not (tmp_path / "models.toml").exists()
    one = recommend(two_endpoints, "--endpoint", "own", "--toml", tmp_path / "models.toml")
    assert one.exit_code == 0
    (model,) = tomllib.loads((tmp_path / "models.toml").read_text())["model"].values()
    assert model["recommendation"]["verdict"] == "no"
    wrong = recommend(two_endpoints, "--endpoint", "owm")
    assert "--endpoint: there is no endpoint 'owm'; did you mean 'own'" in wrong.stderr
