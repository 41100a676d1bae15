"""Evaluations from end to end, against a provider on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.evals.evaluations import KEY, LOCAL, Seen, evaluated, plan_of, recorded, records
from tests.evals.made import record
from tests.evals.provider import Provider, provider
from tests.samples import complaint
from toolreel._internal import ResultsError
from toolreel.evals import EvaluationJournal, Results, plan_of_header, read_header, replay_runs
from toolreel_core._jsontext import Json

REPORTING: dict[str, Any] = {"endpoint": {"provider": "openrouter"}}
PRICED: dict[str, Any] = {"prices": {model: {"prompt": 5, "completion": 5} for model in LOCAL}}


@pytest.fixture
def far() -> Generator[Provider]:
    with provider() as told:
        yield told


def test_every_run_has_a_record_and_a_cassette_and_replays(far: Provider, tmp_path: Path) -> None:
    outcome = evaluated(plan_of(far.url), tmp_path)
    assert (len(outcome.trials), outcome.made, outcome.left, outcome.void) == (12, 12, 0, 0)
    assert outcome.complete
    assert {request.headers["authorization"] for request in far.requests} == {f"Bearer {KEY}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 14
    assert not [path for path in files if KEY.encode() in path.read_bytes()], "no key stands in any file"
    found = records(tmp_path)
    assert len(found) == 12
    assert {tree["model"] for tree in found.values()} == {*LOCAL}
    assert {tree["result"] for tree in found.values()} > {"pass", "fail"}
    for tree in found.values():
        assert (tmp_path / tree["cassette"]).is_file()
        assert tree["turns"] == len(tree["attempts"][0]["asked"])
    results = Results.open(tmp_path)
    again = [*replay_runs(results, plan_of_header(results.header))]
    assert [one.drift for one in again] == [""] * 12
    assert [one.now for one in again] == [*results.records()]


def judged(out: Path) -> dict[str, object]:
    told = ("result", "category", "reasons", "final", "world", "calls", "turns")
    return {key: [tree.get(name) for name in told] for key, tree in records(out).items()}


@pytest.mark.parametrize(("jobs", "retries"), [(1, 1), (8, 9)])
def test_no_outage_counts_against_a_model(jobs: int, retries: int, tmp_path: Path) -> None:
    tables: Mapping[str, Any] = {
        "eval": {"jobs": jobs, "void_retries": 20, "trials": 6},
        "endpoint": {"read_timeout": 1},  # of a busy machine, good replies may come too late as well
        "loop": {"max_tries": retries},
    }
    with provider() as calm:
        evaluated(plan_of(calm.url, **tables), tmp_path / "calm")
    with provider(outages=True) as stormy:
        outcome = evaluated(plan_of(stormy.url, **tables), tmp_path / "stormy")
    assert outcome.complete
    assert judged(tmp_path / "stormy") == judged(tmp_path / "calm")
    attempts = [attempt for tree in records(tmp_path / "stormy").values() for attempt in tree["attempts"]]
    troubles = {(one.get("failure"), one["status"]) for each in attempts for one in each["asked"]}
    assert troubles == {(None, 200), ("status", 429), ("status", 503), ("broken", None), ("timeout", None)}
    assert (len(attempts) > 36) == (retries == 1), "else the loop itself asks again"
    results = Results.open(tmp_path / "stormy")
    assert [one.drift for one in replay_runs(results, plan_of_header(results.header))] == [""] * 36


def test_void_runs_are_tried_again_the_next_time(far: Provider, tmp_path: Path) -> None:
    far.down, pauses = True, list[float]()
    outcome = evaluated(plan_of(far.url), tmp_path, pauses=pauses)
    assert pauses == [1, 2] * 12
    assert (outcome.made, outcome.void, outcome.left, outcome.complete) == (12, 12, 0, False)
    far.down = False
    seen = Seen()
    outcome = evaluated(plan_of(far.url), tmp_path, seen)
    assert seen.before
    assert (seen.before.void, len(seen.before.ended)) == (12, 0)
    assert outcome.complete
    assert len(records(tmp_path)) == 12
    assert len((tmp_path / "journal.jsonl").read_text().splitlines()) == 24


def test_a_last_line_that_was_torn_anywhere_is_made_again(tmp_path: Path) -> None:
    plan = plan_of(eval={"trials": 1, "scenarios": ["no_tool_fits"]})
    evaluated(plan, tmp_path)
    journal, undisturbed = tmp_path / "journal.jsonl", records(tmp_path)
    text = journal.read_bytes()
    first = text.index(b"\n") + 1
    for end in sorted({*range(first, len(text), 9), first + 1, len(text) - 1}):
        journal.write_bytes(text[:end])
        assert len(Results.open(tmp_path).records()) == 1
        EvaluationJournal(tmp_path).close()
        assert journal.read_bytes() == text[:first]
        cut = tmp_path / "journal.jsonl.cut"
        if end > first:
            assert cut.read_bytes() == text[first:end] + b"\n"
            cut.unlink()
        if end == len(text) - 1:
            assert evaluated(plan, tmp_path).made == 1
            assert records(tmp_path) == undisturbed


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda line: line[:40], "not a record: "),
        (lambda line: line + b"\xff", "not UTF-8; restore the file"),
        (
            lambda line: line.replace(b'"record":1', b'"record":0'),
            "of version 0; this toolreel reads version 1; restore the file, or evaluate into another",
        ),
    ],
)
def test_a_line_that_was_spoiled_in_the_middle_is_told_with_its_number(
    spoil: Callable[[bytes], bytes], said: str, tmp_path: Path
) -> None:
    recorded(tmp_path, plan_of(), [record(), record(trial=2), record(trial=3)])
    journal = tmp_path / "journal.jsonl"
    first, second, third = journal.read_bytes().splitlines()
    journal.write_bytes(b"\n".join((first, spoil(second), third, b"")))
    error = complaint(ResultsError, lambda: evaluated(plan_of(), tmp_path))
    assert error.startswith(f"{journal}, line 2: {said}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "header.json: cannot be read: "),
        ('{"toolreel_evaluation": 7}', "header.json: an evaluation of version 7; this toolreel reads"),
        ('{"toolreel_evaluation": 1, "plan": {}}', "header.json: not the header of an evaluation; restore"),
    ],
)
def test_a_header_that_is_none_is_refused_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "header.json").write_text(text)
    assert told in complaint(ResultsError, lambda: read_header(tmp_path / "header.json"))


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    plan = plan_of()
    evaluated(plan, tmp_path)
    header = Results.open(tmp_path).header
    with (
        EvaluationJournal(tmp_path, header),
        pytest.raises(ResultsError, match="another process is writing it"),
    ):
        evaluated(plan, tmp_path)
    assert evaluated(plan, tmp_path).complete


def test_a_directory_takes_what_a_plan_adds_and_nothing_that_it_changes(tmp_path: Path) -> None:
    gated: dict[str, Any] = {"gate": [{"metric": "rate", "at_least": 0.1}]}
    evaluated(plan_of(**gated), tmp_path)
    before = (tmp_path / "header.json").read_bytes()
    evaluated(plan_of(**gated), tmp_path)
    assert (tmp_path / "header.json").read_bytes() == before
    less: list[dict[str, Any]] = [
        {"scenarios": ["happy_path"]},
        {"trials": 1},
        {"strategies": ["raw"]},
        {"add_models": ["scripted:bad"]},
    ]
    for each in less:
        with pytest.raises(ResultsError, match=r"(?s), was run, and this plan lacks it.*which may only grow"):
            evaluated(plan_of(eval=each, **gated), tmp_path)
    with pytest.raises(ResultsError, match=r"gate: .* -> \[\]"):
        evaluated(plan_of(), tmp_path)
    more: dict[str, Any] = {"strategies": ["raw", "production"], "trials": 3}
    outcome = evaluated(plan_of("", eval=more, **gated), tmp_path)
    assert (outcome.complete, outcome.made) == (True, 2 * 2 * 3 * 3 - 12)
    assert json.loads((tmp_path / "header.json").read_text())["created"] == json.loads(before)["created"]
    fresh = tmp_path / "fresh"
    recorded(fresh, plan_of(), [])
    assert evaluated(plan_of(eval={"trials": 1}), fresh).complete, "no run was made yet"


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ({"max_cost": 0.01}, "of 0.01 cost"),
        ({"max_minutes": 1e-9}, "of 1e-09 minutes"),
    ],
)
def test_a_budget_that_is_used_up_stops_an_evaluation(
    budget: dict[str, float], told: str, far: Provider, tmp_path: Path
) -> None:
    plan = plan_of(far.url, budget=budget, **PRICED)
    outcome = evaluated(plan, tmp_path)
    assert outcome.stopped.startswith("the budget is used up: ")
    assert outcome.stopped.endswith(told)
    assert 0 < outcome.made < 12
    assert outcome.left == 12 - outcome.made
    if "max_minutes" not in budget:
        again = evaluated(plan, tmp_path)
        assert (again.made, again.left, again.stopped[:22]) == (0, outcome.left, "the budget is used up:")
    assert evaluated(plan_of(far.url), tmp_path).complete
    assert set(far.ended.values()) == {1}


BY_TOKENS = {model: {"prompt": 0, "completion": 1e6 / 2_560} for model in LOCAL}


@pytest.mark.parametrize(
    ("prices", "key"),
    [
        ({}, "max_tokens"),
        (BY_TOKENS, "max_tokens"),
        (BY_TOKENS, "max_completion_tokens"),
        (BY_TOKENS, "max_output_tokens"),
    ],
)
def test_a_cap_of_the_cost_is_exceeded_by_one_reply_at_most(
    prices: dict[str, dict[str, float]], key: str, tmp_path: Path
) -> None:
    """Eight runs at a time each finished what they had begun: 40 replies of 1 for a cap of 5."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2_560, "cost": 1.0}
    with provider(worded=lambda reply: {**reply, "usage": usage}) as there:
        there.pace = 0.2
        plan = plan_of(
            there.url,
            eval={"jobs": 8, "trials": 8},
            budget={"max_cost": 5.0},
            prices=prices,
            sampling={key: 2_560},
            endpoint={"provider": "openrouter"},
        )
        outcome = evaluated(plan, tmp_path)
        assert 5 <= there.came <= 6
        assert not outcome.complete
        assert outcome.stopped == "the budget is used up: 5 of 5 cost"
        assert evaluated(plan, tmp_path).made == 0, "nor when it goes on"
    voids = [one for one in Results.open(tmp_path).records() if one.verdict.result == "void"]
    assert {one.verdict.reasons[0] for one in voids} == {outcome.stopped}


@pytest.mark.parametrize(("jobs", "tables"), [(1, REPORTING), (4, REPORTING), (1, PRICED)])
def test_an_evaluation_whose_cost_is_limited_stops_at_the_first_reply_of_unknown_cost(
    jobs: int, tables: dict[str, Any], far: Provider, tmp_path: Path
) -> None:
    """Although its provider should report costs, or its tokens have a price: this one reports neither."""
    far.worded = (lambda reply: {**reply, "usage": {}}) if tables is PRICED else dict
    plan = plan_of(far.url, eval={"jobs": jobs}, budget={"max_cost": 100}, **tables)
    outcome = evaluated(plan, tmp_path)
    assert re.fullmatch(
        r"the cost of \d+ requests is unknown; "
        r'give the model a price in \[prices\."MODEL"\], or leave out budget\.max_cost '
        r"if the server counts no tokens",
        outcome.stopped,
    )
    assert 1 <= far.came <= jobs, "what is under way at once, and no request after that"
    found = [*records(tmp_path).values()]
    assert 1 <= outcome.made == len(found) <= jobs
    assert sum(len(tree["attempts"][0]["asked"]) for tree in found) == far.came
    assert {tree["category"] for tree in found if tree["result"] == "void"} <= {"loop.budget"}
    came = far.came
    assert (evaluated(plan, tmp_path).made, far.came) == (0, came)


def test_scripts_cost_nothing_so_a_cap_lets_them_run(tmp_path: Path) -> None:
    caps: dict[str, Json] = {"max_cost": 0.01, "max_tokens": 1, "run": {"max_cost": 0.01}}
    outcome = evaluated(plan_of(budget=caps), tmp_path)
    assert (outcome.complete, outcome.stopped) == (True, "")
    assert "void" not in {tree["result"] for tree in records(tmp_path).values()}


def test_the_cost_of_one_run_is_counted_by_the_prices_of_the_plan(far: Provider, tmp_path: Path) -> None:
    """The server reports no cost: without a price, its runs would end with an unknown one."""
    cap = {"run": {"max_cost": 1e-6}}
    outcome = evaluated(plan_of(far.url, budget=cap, **PRICED), tmp_path / "tight")
    assert outcome.void > 0
    found = [tree for tree in records(tmp_path / "tight").values() if tree["result"] == "void"]
    assert {(tree["category"], tree["loop"]) for tree in found} == {("loop.budget", "budget")}
    wide = plan_of(far.url, budget={"run": {"max_cost": 10}}, **PRICED)
    assert evaluated(wide, tmp_path / "wide").complete
    results = Results.open(tmp_path / "wide")
    assert {again.drift for again in replay_runs(results, plan_of_header(results.header))} == {""}


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(ResultsError, match="cannot be written"):
        evaluated(plan_of(), tmp_path / "out")
