"""Directories of the reference harness, read as evaluations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluated import evaluated
from toolreel._cli.evals.group import eval_command

_OURS = ("result", "category", "key", "cassette", "world", "reasons", "configuration_digest", "history_error")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, [*map(str, arguments)])


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation that was really run, with its run files in the reference's format."""
    folder = tmp_path_factory.mktemp("evals") / "20260208T101112Z"
    evaluated(folder, "local-good", "local-bad")
    assert invoke("summarize", folder, "--runs").exit_code == 0
    for path in (folder / "runs").iterdir():
        tree = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({key: value for key, value in tree.items() if key not in _OURS}), "utf-8")
    return folder


def test_the_same_runs_come_to_the_same_tables(ours: Path) -> None:
    """Summed up from the reference's files, the counts are those of our own journal."""
    before = sorted(path.name for path in (ours / "runs").iterdir())
    said = invoke("summarize", ours / "runs", "--json")
    assert said.exit_code == 0, said.output
    theirs, own = json.loads(said.stdout), json.loads((ours / "summary.json").read_text("utf-8"))
    for part in ("runs", "ok", "fail", "void", "missing", "complete", "scenarios", "strategies"):
        assert theirs[part] == own[part], part
    keys = ("model", "model_base", "strategy", "tool_runs", "tool_ok", "control_runs", "control_ok", "ms_p95")
    assert sorted([row[key] for key in keys] for row in theirs["models"]) == sorted(
        [row[key] for key in keys] for row in own["models"]
    )
    assert theirs["figures"]["strategies"].keys() == own["figures"]["strategies"].keys()
    assert sorted(path.name for path in (ours / "runs").iterdir()) == before


def test_what_is_made_of_summaries_reads_them_too(ours: Path) -> None:
    said = invoke("recommend", ours / "runs", "--json")
    assert said.exit_code == 0, said.output
    assert [one["model"] for one in json.loads(said.stdout)["models"]] == ["local-bad", "local-good"]


def run_file(**changes: object) -> dict[str, Any]:
    """A file as the reference writes it."""
    return {
        "model": "openai/gpt-5.2:nitro",
        "model_base": "openai/gpt-5.2:nitro",
        "strategy": "raw",
        "fallback_profile": "best_effort",
        "sampling_profile": "default",
        "language_policy": {"id": "off", "enabled": False},
        "scenario": "happy_path",
        "trial": 1,
        "ok": False,
        "elapsed_ms": 900,
        "tools_enabled": True,
        "trace": [{"turn": 1, "response_summary": {"finish_reason": "stop", "usage": {"prompt_tokens": 7}}}],
        "error": "ASSERTION_FAILED: draft",
        "error_category": "ASSERTION_FAILED",
        **changes,
    }


def written(folder: Path, *files: Mapping[str, Any]) -> Path:
    folder.mkdir()
    for place, tree in enumerate(files):
        (folder / f"run__{place}.json").write_text(json.dumps(tree), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("changes", "result", "category"),
    [
        ({"ok": True, "error_category": None}, "ok", ""),
        ({}, "fail", "task.outcome:assertion"),
        ({"error_category": "FORBIDDEN", "error_status": 403}, "void", "transport.forbidden"),
        ({"error_category": "TIMEOUT_ERROR"}, "void", "transport.timeout"),
        ({"error_category": "HTTP_418", "error_status": 418}, "void", "transport.status"),
        ({"error_category": "NO_TOOL_USE_ENDPOINT"}, "unsupported", "wire.no_tool_use_endpoint"),
        ({"error_category": "EMPTY_ASSISTANT_TEXT"}, "fail", "wire.empty_response"),
        ({"error_category": "UNPROCESSABLE"}, "fail", "wire.history_refused"),
        ({"error_category": "UNPROCESSABLE", "trace": []}, "void", "transport.unprocessable"),
        ({"error_category": "EXCEPTION", "error": "exceeded max turns"}, "fail", "loop.max_turns"),
        ({"error_category": "EXCEPTION", "error": "RuntimeError: boom"}, "void", "loop.cancelled"),
        # A model whose tools are off passes there by saying "Done."; here it is no pass.
        ({"ok": True, "error_category": None, "tools_enabled": False}, "unsupported", "loop.tools_off"),
    ],
)
def test_its_categories_are_read_as_ours(
    tmp_path: Path, changes: Mapping[str, Any], result: str, category: str
) -> None:
    said = invoke("summarize", written(tmp_path / "there", run_file(**changes)), "--json")
    tree = json.loads(said.stdout)
    assert tree[result] == 1, tree
    assert (tree["models"][0]["run_results"][0]["category"] or "") == category


def test_a_sampling_profile_of_its_own_is_no_obstacle(tmp_path: Path) -> None:
    one = run_file(sampling_profile="hot", llm_options_defaults={"temperature": 2})
    said = invoke("summarize", written(tmp_path / "there", one), "--json")
    assert json.loads(said.stdout)["models"][0]["sampling_profile"] == "hot"


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (
            run_file(scenario="hapy_path"),
            "run__0.json: scenario: there is no scenario 'hapy_path'; did you mean",
        ),
        (run_file(trial=0), "run__0.json: trial: expected a whole number of at least 1, got 0"),
        (run_file(ok="yes"), 'run__0.json: ok: expected true or false, got "yes"'),
        (run_file(strategy=7), "run__0.json: strategy: expected a text, got 7"),
        (run_file(trace={}) | {"trace": {"a": 1}}, "run__0.json: trace: expected a list"),
        (run_file(draft=[1]), "run__0.json: draft: expected an object"),
        (
            run_file(error_category="ASSERTION"),
            "run__0.json: error_category: there is no category 'ASSERTION'",
        ),
        (run_file(strategy="cooked"), "its runs make no evaluation: "),
        ({"model": "x"}, "run__0.json: model_base is missing"),
        ([1], "run__0.json: expected an object"),
    ],
)
def test_errors_name_the_file_and_the_field(tmp_path: Path, tree: Any, told: str) -> None:  # noqa: ANN401
    said = invoke("summarize", written(tmp_path / "there", tree))
    assert said.exit_code == 2, said.output
    assert told in said.stderr


def test_a_file_that_is_no_json_and_run_files_of_run_files_are_refused(tmp_path: Path) -> None:
    there = written(tmp_path / "there", run_file())
    assert "--runs: DIR has the run files" in invoke("summarize", there, "--runs").stderr
    (there / "run__1.json").write_text("{", "utf-8")
    assert "run__1.json: cannot be read as JSON" in invoke("summarize", there).stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no evaluation" in invoke("summarize", empty).stderr


@pytest.mark.parametrize(
    ("name", "ts", "day"),
    [
        ("20260208T101112Z", None, "2026-02-08"),
        ("anything", "2026-03-04T10:11:12Z", "2026-03-04"),
        ("20260208T101112Z", "20260304T101112Z", "2026-03-04"),
    ],
)
def test_the_day_comes_from_the_summary_or_the_name(
    tmp_path: Path, name: str, ts: str | None, day: str
) -> None:
    there = written(tmp_path / name, run_file())
    if ts:
        (there / "summary.json").write_text(json.dumps({"ts": ts}), "utf-8")
    assert json.loads(invoke("recommend", there, "--json").stdout)["measured_on"] == day
