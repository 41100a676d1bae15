"""A user that a model plays, and a judge: asked over HTTP, recorded, priced, and replayed offline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import jsonschema
import pytest

from tests.evals.own_scenario_files import written
from tests.evals.provided import evaluated
from tests.servers.chat_server import Answer, replying, serving
from toolreel.evals._authoring.proof import proof_of, sentences
from toolreel.evals._replay.regression_test import Promoted, promote
from toolreel.evals._replay.replay import replays, rerun, rescored
from toolreel.evals._replay.whatif import what_ifs
from toolreel.evals._runner.plan_loader import plan_of_header, planned
from toolreel.evals._runner.spending import Spent
from toolreel.evals._scenario_files.files import read_scenarios
from toolreel.evals._store.results import Results, schema_of
from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._plan.prices import Price, PriceList
from toolreel_core.evals._records.record import Record
from toolreel_core.evals._scenarios.scripted_model import call, script, scripted_reply

SCENARIO = """\
name = "lamp"
system = "You sell lamps."

[user]
model = "vendor/user"
instructions = "You want a brass lamp, number {sku}. You say so only when you are asked."
says = "I want a lamp."
turns = 3

[draw]
sku = { from = 11, to = 19 }

[[tool]]
name = "order"
arguments = { sku = "integer" }
effect = true

[[check]]
effects = [{ tool = "order", with = { sku = 12 } }]

[[check]]
name = "polite"
judge = "Was the assistant polite?"
model = "vendor/judge"

[script]
good = ["Which one?", { call = "order", with = { sku = 12 } }, "Ordered."]
bad = ["Which one?", "Ordered."]
user = ["Number 12, please."]
"""


def saying(text: str) -> Answer:
    return replying(scripted_reply(script(text), []))


ORDERED = [
    saying("Which one?"),
    saying("Number 12, please."),
    replying(scripted_reply(script("", call("order", sku=12)), [{"role": "assistant"}])),
    saying("Ordered."),
]
VOTES = [saying(f'{{"reason": "It asked kindly.", "answer": "{vote}"}}') for vote in ("yes", "no", "yes")]
REFUSED = replying({"error": {"message": "no such model"}}, 400)


def plan_for(path: Path, url: str, **more: Tree) -> EvalPlan:
    tree: Tree = {
        "eval": {"add_models": ["vendor/model"], "strategies": ["raw"], "scenarios": [str(path)]},
        "endpoint": {"base_url": url},
        **more,
    }
    return planned(None, tree, environ={})


def run_with(folder: Path, answers: Sequence[Answer]) -> tuple[Record, list[Any], Results]:
    """The record of one run, what was asked for it, and its results."""
    path = written(folder, SCENARIO, "lamp.toml")
    with serving(*answers) as server:
        evaluated(plan_for(path, server.url), folder / "results")
    results = Results.open(folder / "results")
    (record,) = results.records()
    return record, [json.loads(each.body) for each in server.seen], results


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, list[Any], Results]:
    return run_with(tmp_path_factory.mktemp("lamp"), [*ORDERED, saying("Thanks. <end>"), *VOTES])


@pytest.fixture
def results(recorded: tuple[Record, list[Any], Results], tmp_path: Path) -> Results:
    return Results.open(copytree(recorded[2].path, tmp_path / "results"))


def test_the_user_and_the_judge_are_asked_at_the_same_endpoint(
    recorded: tuple[Record, list[Any], Results],
) -> None:
    record, asked, _ = recorded
    models = ["vendor/model", "vendor/user", *["vendor/model"] * 2, "vendor/user", *["vendor/judge"] * 3]
    assert [body["model"] for body in asked] == models
    assert not any("tools" in body for body in asked if body["model"] != "vendor/model")
    says = [message["content"] for message in asked[3]["messages"] if message["role"] == "user"]
    assert says == ["I want a lamp.", "Number 12, please."]
    played = asked[4]["messages"]
    assert "brass lamp, number 1" in played[0]["content"]
    assert [one["content"] for one in played[2:]] == [
        *("I want a lamp.", "Which one?", "Number 12, please.", "Ordered."),
    ]
    judged = asked[5]["messages"][1]["content"]
    assert "Question: Was the assistant polite?" in judged
    assert "effects" not in judged
    assert record.verdict.result == "pass"


def test_a_record_has_votes_roles_and_models(recorded: tuple[Record, list[Any], Results]) -> None:
    record, _, results = recorded
    (judged,) = record.judged
    assert (judged.check, judged.votes, judged.others_hold) == ("polite", ("yes", "no", "yes"), True)
    assert judged.reason == "It asked kindly."
    roles = [(one.role, one.asked_model) for one in record.attempts[0].asked]
    assert roles == [
        *[("", ""), ("user", "vendor/user"), ("", ""), ("", ""), ("user", "vendor/user")],
        *[("judge", "vendor/judge")] * 3,
    ]
    (line,) = (results.path / "journal.jsonl").read_text().splitlines()
    jsonschema.validate(json.loads(line), schema_of("record"))


def test_each_model_has_its_own_price(recorded: tuple[Record, list[Any], Results]) -> None:
    record, *_ = recorded
    asked = record.attempts[0].asked
    tokens = sum(one.prompt_tokens for one in asked if one.role == "judge")
    free, dear = Price(0.0, 0.0), Price(1_000_000.0, 0.0)
    prices = {"vendor/model": free, "vendor/user": free, "vendor/judge": dear}
    assert Spent().after(record, PriceList(prices)).cost == pytest.approx(tokens)
    assert Spent().after(record, PriceList({"vendor/model": free})).unpriced == 5
    located = replace(record, cell=replace(record.cell, endpoint="own"))
    there = PriceList(prices, {"own": {"vendor/judge": free}})
    assert (Spent().after(located, there).cost, Spent().after(record, there).cost) == (0, tokens)


def test_it_is_replayed_judged_again_and_promoted_offline(results: Results, tmp_path: Path) -> None:
    plan = plan_of_header(results.header)
    (record,) = results.records()
    for again in (*replays(results, plan), *rescored(results, plan)):
        assert again.drift == ""
        assert again.now == record
    assert len(rerun(record, plan, results.path).evidence.opinions) == 1
    (one,) = what_ifs(results, plan, "raw", ["baseline"])
    assert one.now is not None
    assert one.now.result == "pass"
    promote(results, plan, record, tmp_path / "tests", "it")
    assert Promoted.open(tmp_path / "tests" / "it.json").verdict().result == "pass"


@pytest.mark.parametrize(
    ("answers", "category"),
    [
        ([*ORDERED, saying("<end>"), *VOTES[1:2] * 2, VOTES[0]], "task.outcome:polite"),
        ([saying("Sold out."), saying("<end>"), *VOTES], "task.outcome:effects"),
        ([*ORDERED, REFUSED], "helper.user"),
        ([*ORDERED, *[saying(" ")] * 2], "helper.user"),
        ([*ORDERED, saying("<end>"), *[REFUSED] * 3], "helper.judge"),
        ([*ORDERED, saying("<end>"), *[saying("Perhaps.")] * 3], "helper.judge"),
        ([saying("Sold out."), saying("<end>"), *[REFUSED] * 3], "task.outcome:effects"),
        ([REFUSED], "transport.status"),
    ],
)
def test_a_failure_is_that_of_who_failed(answers: list[Answer], category: str, tmp_path: Path) -> None:
    record, _, results = run_with(tmp_path, answers)
    assert record.verdict.category == category
    assert (record.verdict.result == "void") == category.startswith(("helper.", "transport."))
    (again,) = replays(results, plan_of_header(results.header))
    assert again.drift == ""


def test_a_user_speaks_no_more_often_than_it_may(tmp_path: Path) -> None:
    answers = [
        saying("Which one?"),
        saying("That one."),
        saying("Which?"),
        saying("That."),
        saying("Hm."),
        *VOTES,
    ]
    record, asked, _ = run_with(tmp_path, answers)
    assert [body["model"] for body in asked].count("vendor/user") == 2
    assert record.final == "Hm."


def test_a_script_is_alone_and_proves_the_other_checks(tmp_path: Path) -> None:
    (one,) = read_scenarios(written(tmp_path, SCENARIO, "lamp.toml"))
    proof = proof_of(one)
    assert proof.holds
    assert proof.not_asked == ("polite",)
    assert "the judge of 'polite' is not asked here" in "\n".join(sentences(proof))
