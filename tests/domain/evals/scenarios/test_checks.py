from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.domain.evals.rehearsing import rehearse
from tests.evals_values import worked
from toolreel_core._config_checks import Table
from toolreel_core.evals import arguments_of, call, checks_of, scenario_of, script

TOOLS: list[dict[str, Any]] = [
    {"name": "look", "arguments": {"at": "string"}, "answers": [{"when": {"at": "a"}, "then": {"n": 3}}]},
    {"name": "pay", "arguments": {"sum": "number"}, "effect": True},
    {
        "name": "set_name",
        "arguments": {"name": "string"},
        "effect": True,
        "answers": [{"set": {"/name": "$arguments/name"}}],
    },
]
LOOK, LOST = call("look", at="a"), call("look", at="b")
PAY, NAME = call("pay", sum=2), call("set_name", name="Ada")
PAID: dict[str, Any] = {"effects": [{"tool": "pay", "with": {"sum": 2}}], "name": "paid"}


ROWS = Path(__file__).with_name("checks.jsonl").read_text("utf-8").splitlines()


@pytest.mark.parametrize("row", [*map(json.loads, ROWS)], ids=lambda row: str(row["check"])[:60])
def test_a_check_tells_right_from_wrong(row: dict[str, Any]) -> None:
    """In a conversation of two exchanges."""
    tree = {"name": "one", "user": ["Begin.", "Go on."], "tool": TOOLS, "check": [row["check"]]}
    one = scenario_of({**tree, "script": {"good": row["fine"], "bad": row["wrong"]}})
    fine, wrong = (rehearse(one, one.scripts("1").of(kind)).verdict for kind in ("good", "bad"))
    assert fine.reasons == ()
    assert row["told"] in " ".join(wrong.reasons)


@pytest.mark.parametrize(
    ("final", "paid", "told"),
    worked("an answer claims what the outcome is"),
)
def test_an_answer_claims_what_the_outcome_is(final: str, paid: bool, told: str) -> None:
    missed = {"called": "look", "layer": "exercise"}
    tree = {"name": "one", "user": "Pay.", "tool": TOOLS, "check": [missed, PAID, {"truthful": True}]}
    one = scenario_of(tree)
    seen = rehearse(one, script(*([PAY] if paid else []), final)).evidence
    found = {check.name: check.finding(seen) for check in one.begin("1").checks}
    assert bool(found["truthful"]) == bool(told), "what is about the hard part does not decide"
    assert told in found["truthful"]


def test_arguments_are_an_object_or_none() -> None:
    one = scenario_of({"name": "one", "user": "Go.", "tool": TOOLS, "check": [PAID]})
    (seen,) = rehearse(one, script(LOOK, "x")).evidence.calls
    found = [arguments_of(replace(seen, arguments=text)) for text in ('{"at":"a"}', "[1]", "{")]
    assert found == [{"at": "a"}, {}, {}]


def test_an_exchange_that_never_came_says_nothing() -> None:
    tree = {"name": "one", "user": ["a", "b"], "tool": TOOLS, "check": [{"says": "x", "exchange": 2}]}
    one = scenario_of(tree)
    seen = rehearse(one, script("x", "x"), max_turns=1).evidence
    (check, _) = one.begin("1").checks
    assert check.finding(seen) == ""
    assert "does not say" in check.finding(type(seen)(seen.outcome, "", (), seen.world, tools_sent=True))


def test_names_are_made_of_the_check_and_are_distinct() -> None:
    trees = ({"called": "look"}, {"called": "look"}, {"says": 1}, {"says": 2})
    found = checks_of([Table.of(each, "check") for each in trees], {"look": ""})
    assert [check.name for check in found] == ["called_look", "called_look_2", "says", "says_2"]
