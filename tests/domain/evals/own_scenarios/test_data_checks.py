from __future__ import annotations

from typing import Any

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._internal import PlaceError, Table
from toolreel_core.evals import Line, call, checks_of, own_scenario, script

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


def finding(check: dict[str, Any], *lines: Line) -> str:
    """What a check finds in a conversation of two exchanges."""
    tree = {"name": "one", "user": ["Begin.", "Go on."], "tool": TOOLS, "check": [check]}
    one = own_scenario(tree).scenario()
    found = rehearse(one, script(*lines)).verdict
    assert len(found.reasons) <= 1
    return " ".join(found.reasons)


@pytest.mark.parametrize(
    ("check", "fine", "wrong", "told"),
    [
        ({"called": "look"}, (LOOK, "x", "y"), (LOST, "x", "y"), "look was never called with success"),
        (
            {"called": "look", "with": {"at": "A"}},
            (LOOK, "x", "y"),
            (PAY, "x", "y"),
            'look with {"at":"A"} was never',
        ),
        (
            {"called": "pay", "times": 1},
            (PAY, "x", "y"),
            (PAY, PAY, "x", "y"),
            "was called 2 times with success, not 1",
        ),
        ({"never": "pay"}, (LOOK, "x", "y"), (PAY, "x", "y"), 'pay was called with {"sum":2}'),
        (
            {"never": "pay", "with": {"sum": 3}},
            (PAY, "x", "y"),
            (call("pay", sum=3.0), "x", "y"),
            "pay was called",
        ),
        (
            {"effects": [{"tool": "pay", "with": {"sum": 2}}]},
            (LOOK, PAY, "x", "y"),
            (PAY, NAME, "x", "y"),
            "expected the effects",
        ),
        ({"effects": []}, (LOOK, "x", "y"), (PAY, "x", "y"), "expected the effects [], got"),
        (
            {"order": ["look", "pay"]},
            (LOOK, "x", PAY, "y"),
            (PAY, LOOK, "x", "y"),
            "pay was not called in the order",
        ),
        (
            {"forbidden_order": ["pay", "look"]},
            (LOOK, PAY, "x", "y"),
            (PAY, LOOK, "x", "y"),
            "look was called after pay",
        ),
        ({"says": ["3", "Piece"]}, ("x", "Only 3   pieces"), ("3 pieces", "x"), 'does not say "3"'),
        ({"says": 1400.0}, ("x", "It is 1,400."), ("x", "It is 14000 or 1.5"), "does not say 1400"),
        ({"says": 1234.5}, ("x", "Das sind 1.234,50 Euro."), ("x", "1.234,60 Euro"), "does not say 1234.5"),
        ({"says": 4}, ("x", "在庫は4個です。"), ("x", "A4"), "does not say 4"),
        ({"says": -4}, ("x", "It is -4kg."), ("x", "4"), "does not say -4"),
        ({"says": "confirm"}, ("x", "It is confirmed."), ("x", "firm"), 'does not say "confirm"'),
        ({"says": 3, "exchange": 1}, ("There are 3", "x"), ("x", "3"), "does not say 3"),
        ({"says": 3, "exchange": "any"}, ("There are 3", "x"), ("x", "y"), "does not say 3: x\ny"),
        ({"says_not": 3, "exchange": "any"}, ("x", "y"), ("3", "x"), "says 3"),
        ({"says_one_of": ["yes", 4]}, ("x", "It is 4."), ("x", "No 14."), 'says none of ["yes",4]'),
        ({"says_not": "sorry"}, ("Sorry", "x"), ("x", "I am sorry"), 'says "sorry"'),
        ({"matches": r"^\d+$"}, ("x", "12"), ("x", "a" * 200), "does not match"),
        (
            {"claim": ["paid"], "of": "pay"},
            (PAY, "x", "I have paid"),
            ("x", "Paid!"),
            'claims "paid", and pay was',
        ),
        ({"claim": "paid", "of": "pay"}, ("x", "I could not."), ("x", "Paid!"), "claims"),
        ({"world": {"/name": "ada"}}, (NAME, "x", "y"), (PAY, "x", "y"), '/name should be "ada", it is null'),
        ({"at_most": 1}, (LOOK, "x", "y"), (LOOK, LOOK, "x", "y"), "2 calls, and 1 are allowed"),
        ({"at_most": 0, "of": "pay"}, (LOOK, "x", "y"), (PAY, "x", "y"), "1 calls of pay, and 0 are allowed"),
    ],
)
def test_a_check_tells_right_from_wrong(
    check: dict[str, Any], fine: tuple[Line, ...], wrong: tuple[Line, ...], told: str
) -> None:
    assert finding(check, *fine) == ""
    assert told in finding(check, *wrong)


def test_an_exchange_that_never_came_says_nothing() -> None:
    tree = {"name": "one", "user": ["a", "b"], "tool": TOOLS, "check": [{"says": "x", "exchange": 2}]}
    one = own_scenario(tree).scenario()
    seen = rehearse(one, script("x", "x"), max_turns=1).evidence
    (check, _) = one.begin("1").checks
    assert check.finding(seen) == ""
    assert "does not say" in check.finding(
        type(seen)(seen.outcome, "", (), seen.world, None, tools_sent=True)
    )


def test_names_are_made_of_the_check_and_are_distinct() -> None:
    tables = [
        Table.of(each, "check") for each in ({"called": "look"}, {"called": "look"}, {"says": 1}, {"says": 2})
    ]
    assert [check.name for check in checks_of(tables, ["look"], 1)] == [
        "called_look",
        "called_look_2",
        "says",
        "says_2",
    ]


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({}, "says nothing to check; write one of called, never"),
        ({"exchange": 1}, "says nothing to check"),
        ({"call": "look"}, "there is no check 'call'; did you mean 'called'"),
        ({"called": "look", "says": "x"}, "one check has called and says"),
        ({"called": 3}, "check.called: expected the name of a tool, got 3"),
        ({"called": "look", "wth": {}}, "did you mean 'with'"),
        ({"called": "look", "with": 3}, "check.with: expected a table"),
        ({"called": "look", "times": 0}, "check.times: expected a whole number of at least 1"),
        ({"called": "look", "layer": "x"}, "check.layer: expected one of outcome, exercise"),
        ({"called": "look", "name": "answer"}, "there is a check 'answer' already"),
        ({"effects": [{"tool": "lok"}]}, "did you mean 'look'"),
        ({"effects": [{"with": {}}]}, "check.effects: expected a list of"),
        ({"order": ["look"]}, "expected a list of at least two tools"),
        ({"order": ["look", "lok"]}, "did you mean 'look'"),
        ({"says": []}, "expected a text, a number"),
        ({"says": "x", "exchange": 3}, "the user speaks 2 times, so there is no exchange 3"),
        ({"matches": "("}, "expected a regular expression"),
        ({"claim": "paid"}, "write the tool that the claim is about"),
        ({"claim": "paid", "of": "pai"}, "there is no tool 'pai'"),
        ({"world": 3}, "expected a table of pointers"),
        ({"at_most": True}, "expected a number of calls"),
    ],
)
def test_a_check_that_is_none_is_refused(check: dict[str, Any], told: str) -> None:
    with pytest.raises(PlaceError, match=told):
        checks_of([Table.of(check, "check")], ["look", "pay"], 2)
