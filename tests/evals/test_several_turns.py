"""Scenarios with several user turns: run over HTTP, recorded, replayed, and put to another strategy."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.evals.several_turns import RESERVING, plan_of_several_turns
from tests.servers.chat_server import replying, serving
from toolreel._driver import InstantClock
from toolreel.evals import (
    Results,
    RunContext,
    evaluate,
    jobs_of,
    rejudged_under,
    replays,
    rerun,
    run_job,
    transcript_of,
)
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._protocol import ReplyReceived, SendRequest
from toolreel_core.evals import EvalPlan, Kind, scripted_reply


def replies(kind: Kind) -> list[Tree]:
    """The replies of a script, in their order."""
    scripts = RESERVING.begin("").scripts
    assert scripts is not None
    places = range(len(scripts.of(kind).lines))
    return [scripted_reply(scripts.of(kind), [{"role": "assistant"}] * place) for place in places]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EvalPlan]:
    folder = tmp_path_factory.mktemp("evals") / "results"
    with serving(*map(replying, replies("good"))) as server:
        plan = plan_of_several_turns(server.url)
        evaluate(plan, folder)
    said = [json.loads(each.body)["messages"][-1] for each in server.seen]
    assert [each["content"] for each in said if each["role"] == "user"] == [
        "How many lamps (LAMP) are there?",
        "Reserve two of them.",
        "Thank you. Done.",
    ]
    return folder, plan


@pytest.fixture
def results(recorded: tuple[Path, EvalPlan], tmp_path: Path) -> tuple[Results, EvalPlan]:
    folder, plan = recorded
    return Results.open(copytree(folder, tmp_path / "results")), plan


def test_a_record_has_the_last_answer_and_counts_all_turns(results: tuple[Results, EvalPlan]) -> None:
    (record,) = results[0].records()
    assert (record.verdict.result, record.final) == ("pass", "You are welcome.")
    assert (record.turns, record.calls, len(record.attempts[0].asked)) == (5, 2, 5)


def test_it_replays_to_the_same_record_and_is_judged_again(results: tuple[Results, EvalPlan]) -> None:
    for again in replays(*results):
        assert again.drift == ""
        assert again.now == again.record


def test_its_evidence_spans_all_exchanges(results: tuple[Results, EvalPlan]) -> None:
    (record,) = results[0].records()
    seen = rerun(record, results[1], results[0].path).evidence
    assert seen.answers == ("There are 3.", "I have reserved 2.", "You are welcome.")
    assert [call.name for call in seen.calls] == ["stock_of", "reserve"]
    assert len(seen.turns) == 5


def test_its_transcript_says_what_the_user_said(results: tuple[Results, EvalPlan]) -> None:
    (record,) = results[0].records()
    told: Any = transcript_of(record, results[1], results[0].path)
    said = [turn["said"] for turn in told["turns"]]
    assert said == [[], [], ["Reserve two of them."], [], ["Thank you. Done."]]


def test_another_strategy_meets_the_same_turns(results: tuple[Results, EvalPlan]) -> None:
    (one,) = rejudged_under(*results, "baseline")[1]["raw"]
    assert one.fate == "won"


class _Scripted:
    def __init__(self, kind: Kind) -> None:
        scripts = RESERVING.begin("").scripts
        assert scripts is not None
        self._script = scripts.of(kind)

    def send(self, effect: SendRequest) -> ReplyReceived:
        """The script's next reply."""
        messages = json.loads(effect.request.body)["messages"]
        return ReplyReceived(effect.ref, 200, canonical(scripted_reply(self._script, messages)))


@pytest.mark.parametrize(("kind", "result"), [("good", "pass"), ("bad", "fail")])
def test_scripts_go_on_over_the_exchanges(kind: Kind, result: str) -> None:
    plan = plan_of_several_turns("http://localhost")
    job = jobs_of(plan)(next(plan.samples()))
    assert run_job(job, RunContext(_Scripted(kind), InstantClock())).verdict.result == result


def test_an_exchange_without_an_answer_is_the_last() -> None:
    plan = plan_of_several_turns(
        "http://localhost", strategies=["one"], strategy={"one": {"config": {"max_turns": 1}}}
    )
    job = jobs_of(plan)(next(plan.samples()))
    record = run_job(job, RunContext(_Scripted("good"), InstantClock()))
    assert (record.verdict.category, record.turns, record.final) == ("loop.max_turns", 1, "")
