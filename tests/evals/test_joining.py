"""Shards of several machines, joined: what one machine would have written."""

from __future__ import annotations

import json
import shutil
from itertools import permutations
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.evals.evaluations import evaluated, plan_of, recorded, records
from tests.evals.provider import provider
from toolreel._cli import summarize_command
from toolreel._internal import ResultsError
from toolreel.evals import (
    Results,
    all_records,
    join_results,
    plan_of_header,
    read_header,
    replay_runs,
    shard_plan,
    write_summaries,
)
from toolreel_core._jsontext import Json
from toolreel_core.evals import EvalPlan, incompleteness_sentence

SUMMARIES = ("summary.json", "summary_by_scenario.json", "summary_by_scenario_and_strategy.json")


def shards(plan: EvalPlan, folder: Path, count: int) -> list[Path]:
    """The directories of all shards of a plan."""
    folders = [folder / f"machine-{number}" for number in range(1, count + 1)]
    for number, each in enumerate(folders, 1):
        outcome = evaluated(shard_plan(plan, f"{number}/{count}"), each)
        assert outcome.complete, "a shard is complete once it has its part"
    return folders


def summed(folder: Path) -> dict[str, bytes]:
    results = Results.open(folder)
    write_summaries(results, plan_of_header(results.header))
    return {name: (folder / name).read_bytes() for name in SUMMARIES}


def timeless_journal(folder: Path) -> dict[str, object]:
    return {key: {**tree, "cassette": ""} for key, tree in records(folder).items()}


def test_the_shards_of_a_server_are_the_whole_with_all_recordings(tmp_path: Path) -> None:
    with provider() as far:
        plan = plan_of(far.url, eval={"trials": 3})
        evaluated(plan, tmp_path / "whole")
        folders = shards(plan, tmp_path, 2)
    out = tmp_path / "joined"
    join_results(folders, out)
    assert timeless_journal(out) == timeless_journal(tmp_path / "whole")
    assert read_header(out / "header.json") == read_header(tmp_path / "whole" / "header.json")
    assert [record.key for record in all_records(out)] == [sample.key for sample in plan.samples()]
    results = Results.open(out)
    again = [*replay_runs(results, plan_of_header(results.header))]
    assert len(again) == plan.count
    assert not [one.drift for one in again if one.drift]


def test_any_order_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = shards(plan_of(), tmp_path, 3)
    texts = set[tuple[bytes, ...]]()
    for place, order in enumerate(permutations(folders)):
        out = tmp_path / f"joined-{place}"
        join_results(order, out)
        texts.add(tuple((out / name).read_bytes() for name in ("header.json", "journal.jsonl")))
    assert len(texts) == 1
    assert not [*tmp_path.glob(".*")], "no draft is left"
    with pytest.raises(ResultsError, match="joined-0: exists already"):
        join_results(folders, tmp_path / "joined-0")


def test_the_command_joins_shards_and_sums_them_up(tmp_path: Path) -> None:
    """Each machine makes as many runs at a time as it likes."""
    folders = [str(tmp_path / str(jobs)) for jobs in (1, 4)]
    for number, (jobs, folder) in enumerate(zip((1, 4), folders, strict=True), 1):
        evaluated(shard_plan(plan_of(eval={"jobs": jobs}), f"{number}/2"), Path(folder))
    done = CliRunner().invoke(summarize_command, [*folders, "--out", str(tmp_path / "whole")])
    assert done.exit_code == 0, done.output
    assert f"full report: {tmp_path / 'whole'}" in done.stdout
    lacking = CliRunner().invoke(summarize_command, folders)
    assert (lacking.exit_code, "--out WHOLE" in lacking.stderr) == (2, True)


def test_merged_without_a_shard_it_is_incomplete_and_lacks_the_runs_of_the_other(tmp_path: Path) -> None:
    folders = shards(plan_of(eval={"trials": 3}), tmp_path, 3)
    shard = Results.open(folders[0])
    plan = plan_of_header(shard.header)
    assert (shard.header.shard, str(plan.shard)) == ("1/3", "1/3")
    assert incompleteness_sentence(shard.trials(plan), 0.9) == "", "a shard is no incomplete evaluation"
    assert json.loads(summed(folders[0])["summary.json"])["shard"] == "1/3"
    join_results(folders[:2], tmp_path / "joined")
    results = Results.open(tmp_path / "joined")
    trials = results.trials(plan_of_header(results.header))
    assert incompleteness_sentence(trials, 0.9) != ""
    assert sum(one.outcome == "missing" for one in trials) == len(Results.open(folders[2]).records())


def test_another_shard_needs_another_directory_but_the_whole_may_follow(tmp_path: Path) -> None:
    plan = plan_of()
    evaluated(shard_plan(plan, "1/2"), tmp_path / "here")
    with pytest.raises(ResultsError, match="was run, and shard 2/2 lacks it"):
        evaluated(shard_plan(plan, "2/2"), tmp_path / "here")
    assert evaluated(plan, tmp_path / "here").complete
    assert read_header(tmp_path / "here" / "header.json").shard == ""
    with pytest.raises(ResultsError, match="was run, and shard 2/2 lacks it"):
        evaluated(shard_plan(plan, "2/2"), tmp_path / "here")


def test_another_run_of_the_same_key_is_refused_with_both_sides(tmp_path: Path) -> None:
    one, other = tmp_path / "monday", tmp_path / "tuesday"
    evaluated(plan_of(), one)
    shutil.copytree(one, other)
    path = other / "journal.jsonl"
    path.write_text(path.read_text().replace('"turns":4', '"turns":7', 1))
    assert path.read_text() != (one / "journal.jsonl").read_text()
    with pytest.raises(ResultsError) as caught:
        join_results([one, other], tmp_path / "joined")
    said = str(caught.value)
    assert str(one) in said
    assert str(other) in said
    assert "turns: 4 -> 7" in said or "turns: 7 -> 4" in said
    assert "trial 1" in said
    assert not (tmp_path / "joined").exists()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"endpoint": {"base_url": "http://127.0.0.1:8"}}, "plan.options.endpoint.base_url"),
        ({"loop": {"max_turns": 5}}, "plan.options.loop.max_turns"),
    ],
)
def test_other_plans_are_refused_by_name(
    tmp_path: Path, changes: dict[str, dict[str, Json]], named: str
) -> None:
    recorded(tmp_path / "one", plan_of(), [])
    recorded(tmp_path / "other", plan_of("", **changes), [])
    with pytest.raises(ResultsError, match="not of the same plan") as caught:
        join_results([tmp_path / "one", tmp_path / "other"], tmp_path / "joined")
    assert named in str(caught.value)


def test_a_void_run_gives_way_to_one_that_ended(tmp_path: Path) -> None:
    one, other, out = tmp_path / "monday", tmp_path / "tuesday", tmp_path / "joined"
    with provider() as far:
        plan = plan_of(far.url, eval={"trials": 1, "void_retries": 0})
        evaluated(plan, one)
    shutil.copytree(one, other)
    lines = (other / "journal.jsonl").read_text().splitlines()
    tree = json.loads(lines[0])
    void = {**tree, "result": "void", "category": "transport.rate_limit"}
    (other / "journal.jsonl").write_text("\n".join([json.dumps(void), *lines[1:]]) + "\n")
    join_results([other, one], out)
    assert records(out) == records(one)
    join_results([one, other], tmp_path / "again")
    assert records(tmp_path / "again") == records(one)
