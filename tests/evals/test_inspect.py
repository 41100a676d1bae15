"""Evaluations as logs of Inspect, and Inspect itself reading them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.shared.environment import Environment, NotInstalled
from tests.evals.evaluations import evaluated, plan_of, read, recorded
from tests.evals.made import cell, record
from tests.evals.provider import provider
from toolreel.evals import Results, write_inspect_logs

READER = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
print(json.dumps({
    "version": log.version, "status": log.status, "model": log.eval.model, "samples": [
        [each.id, each.epoch, each.scores["toolreel"].as_str() if each.scores else None,
         [message.role for message in each.messages],
         sum(len(message.tool_calls or ()) for message in each.messages if message.role == "assistant"),
         each.error.message if each.error else None]
        for each in log.samples]}))
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("inspect")
    with provider() as far:
        evaluated(plan_of(far.url, eval={"trials": 1}), folder / "results")
    return [*write_inspect_logs(folder / "results", folder / "logs")]


def test_a_log_has_the_conversation_score_and_usage_of_each_run(logs: list[Path]) -> None:
    assert [path.name for path in logs] == ["first_model__production.json", "second_model__production.json"]
    results = Results.open(logs[0].parents[1] / "results")
    for path in logs:
        log = read(path)
        records = {
            (one.cell.scenario, one.trial): one
            for one in results.records()
            if one.cell.model == log["eval"]["model"]
        }
        assert (log["version"], log["status"]) == (2, "success")
        assert {(each["id"], each["epoch"]) for each in log["samples"]} == {*records}
        for sample in log["samples"]:
            one = records[sample["id"], sample["epoch"]]
            assert sample["scores"]["toolreel"]["value"] == ("I" if one.verdict.result == "fail" else "C")
            assert sample["messages"][: len(sample["input"])] == sample["input"]
            assert sample["output"]["completion"] == one.final
            usage = sample["model_usage"][one.cell.model]
            assert usage["input_tokens"] == sum(each.prompt_tokens for each in one.attempts[-1].asked)
            calls = [call for each in sample["messages"] for call in each.get("tool_calls", ())]
            answers = [each["tool_call_id"] for each in sample["messages"] if each["role"] == "tool"]
            assert [call["id"] for call in calls] == answers
            assert sample["metadata"]["configuration"] == json.loads(one.configuration)
        counts = [one.verdict.result != "fail" for one in records.values()]
        accuracy = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
        assert accuracy == pytest.approx(sum(counts) / len(counts))


def test_a_void_run_has_an_error_and_no_score(tmp_path: Path) -> None:
    plan = plan_of("http://127.0.0.1:9", eval={"add_models": ["m"], "scenarios": ["happy_path"]})
    at = cell(model="m", strategy="production")
    runs = [record("void", at, 1), record("fail", at, 2, category="loop.max_turns")]
    recorded(tmp_path / "results", plan, runs)
    (path,) = write_inspect_logs(tmp_path / "results", tmp_path / "logs")
    void, limited = read(path)["samples"]
    assert "scores" not in void
    assert void["error"]["message"].startswith("transport.rate_limit")
    assert limited["metadata"]["failure_class"] == "loop.max_turns"
    assert limited["metadata"]["messages_missing"], "no recording, so no messages, and the reason"
    assert limited["messages"] == []


@pytest.mark.slow
def test_inspect_reads_it(logs: list[Path]) -> None:
    environment = Environment(Path(__file__).parents[1] / "peers" / "inspect" / "requirements.txt")
    try:
        environment.install()
    except NotInstalled as error:
        pytest.skip(str(error))
    for path in logs:
        command = [str(environment.interpreter), "-c", READER, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seen, log = json.loads(done.stdout), read(path)
        assert (seen["version"], seen["model"]) == (2, log["eval"]["model"])
        assert len(seen["samples"]) == 3
        for (name, epoch, score, roles, calls, problem), sample in zip(
            seen["samples"], log["samples"], strict=True
        ):
            assert (name, epoch) == (sample["id"], sample["epoch"])
            assert score == sample["scores"]["toolreel"]["value"]
            assert roles == [each["role"] for each in sample["messages"]]
            assert calls == sum(len(each.get("tool_calls", ())) for each in sample["messages"])
            assert problem is None
