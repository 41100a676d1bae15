from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._config_checks import PlaceError, Table
from toolreel_core.evals import Line, arguments_of, call, checks_of, exercise, outcome, scenario_of, script

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
FACT = {"true": 3, "false": [4, 5]}


def acts(*calls: Line) -> tuple[Line, ...]:
    """These calls, and an answer in each exchange that says nothing of interest."""
    return (*calls, "x", "y")


def says(last: str) -> tuple[Line, ...]:
    """No call, and a last answer."""
    return ("x", last)


def finding(check: dict[str, Any], *lines: Line) -> str:
    """What a check finds in a conversation of two exchanges."""
    tree = {"name": "one", "user": ["Begin.", "Go on."], "tool": TOOLS, "check": [check]}
    one = scenario_of(tree)
    found = rehearse(one, script(*lines)).verdict
    assert len(found.reasons) <= 1
    return " ".join(found.reasons)


@pytest.mark.parametrize(
    ("check", "fine", "wrong", "told"),
    [
        ({"called": "look"}, acts(LOOK), acts(LOST), "look was never called with success"),
        ({"called": "look", "with": {"at": "A"}}, acts(LOOK), acts(PAY), 'look with {"at":"A"} was never'),
        ({"never": "pay"}, acts(LOOK), acts(PAY), 'pay was called with {"sum":2}'),
        ({"never": "pay", "with": {"sum": 3}}, acts(PAY), acts(call("pay", sum=3.0)), "pay was called"),
        (PAID, acts(LOOK, PAY), acts(PAY, NAME), "expected the effects"),
        ({"effects": []}, acts(LOOK), acts(PAY), "expected the effects [], got"),
        (
            {"called": ["look", "pay"]},
            (LOOK, "x", PAY, "y"),
            acts(PAY, LOOK),
            "look and pay was never called",
        ),
        ({"says": ["3", "Piece"]}, says("Only 3   pieces"), ("3 pieces", "x"), 'does not say "3"'),
        ({"says": 1400.0}, says("It is 1,400."), says("It is 14000 or 1.5"), "does not say 1400"),
        ({"says": 1234.5}, says("Das sind 1.234,50 Euro."), says("1.234,60 Euro"), "does not say 1234.5"),
        ({"says": 4}, says("在庫は4個です。"), says("A4"), "does not say 4"),
        ({"says": -4}, says("It is -4kg."), says("4"), "does not say -4"),
        ({"says": "confirm"}, says("It is confirmed."), says("firm"), 'does not say "confirm"'),
        ({"says": 3, "exchange": 1}, ("There are 3", "x"), says("3"), "does not say 3"),
        ({"says": 3, "exchange": "any"}, ("There are 3", "x"), acts(), "does not say 3: x\ny"),
        ({"says_not": 3, "exchange": "any"}, acts(), ("3", "x"), "says 3"),
        ({"says_one_of": ["yes", 4]}, says("It is 4."), says("No 14."), 'says none of ["yes",4]'),
        ({"says_not": "sorry"}, ("Sorry", "x"), says("I am sorry"), 'says "sorry"'),
        ({"matches": r"^\d+$"}, says("12"), ("x", "a" * 200), "does not match"),
        ({"world": {"/name": "ada"}}, acts(NAME), acts(PAY), '/name should be "ada", it is null'),
        (
            {"world": {"/name": "Ada"}, "texts": "exact"},
            acts(NAME),
            acts(call("set_name", name="ada")),
            '/name should be "Ada", it is "ada"',
        ),
        (
            {"called": {"with": {"at": "a"}}, "before": {"tool": "look", "with": {"at": "b"}}},
            acts(LOOK, LOST),
            acts(LOST, LOOK),
            'a tool with {"at":"a"} was never called before {"tool":"look","with":{"at":"b"}}',
        ),
        ({"omits": "at"}, acts(PAY), acts(PAY, LOOK), "at was given to look"),
        ({"called": "look", "before": "pay"}, acts(LOOK), acts(LOST, PAY, LOOK), 'success before "pay"'),
        ({"called": {"tool": "look"}, "before": "pay"}, acts(LOST, PAY), acts(PAY, LOST), "look was never"),
        (
            {"called": ["pay", "look"], "within": "first reply"},
            acts(LOOK + PAY, PAY),
            acts(LOOK, LOOK + PAY),
            "pay and look was never called with success within first reply",
        ),
        ({"called": {"ok": True}, "with": {"at": "a"}}, acts(LOOK), acts(PAY), 'a tool with {"at":"a"} was'),
        ({"called": {}, "within": "first reply"}, acts(LOST), acts(), "a tool was never called within"),
        ({"failed_first": "look"}, acts(LOST, LOOK), acts(LOOK, LOST), "no look failed before one worked"),
        ({"error": "NOT_FOUND", "of": "look"}, acts(LOST), acts(LOOK), "NOT_FOUND never came up"),
        (
            {"called": [{}, {}], "within": "one reply"},
            acts(LOOK, LOST + PAY),
            acts(LOOK, PAY),
            "a tool and a tool was never called within one reply",
        ),
        (
            {"called": [{"tool": "look", "ok": False}, "pay"], "within": "one reply"},
            acts(PAY + LOST),
            acts(LOOK + PAY, LOST),
            "look and pay was never called within one reply",
        ),
        ({"answer_is": "Done"}, says(' "DONE!" '), says("Done.."), "not the agreed word: Done.."),
        ({"answer_is": "Done", "exchange": 1}, ("done", "x"), ("It is done.", "x"), "not the agreed word"),
        ({"read": 3, "before": "pay"}, acts(LOOK, PAY), acts(LOOK + PAY), "called before any result told 3"),
        (
            {"read": ["3"]},
            acts(call("set_name", name="b"), LOOK, call("set_name", name="3")),
            acts(call("set_name", name="3"), LOOK),
            "set_name was called before any result told 3",
        ),
        ({"truthful": True, "tells": [42, "o-1"]}, says("42 in o-1."), says("I saw 42."), "not tell o-1"),
        ({"truthful": True, "facts": [FACT]}, says("I saw 3 of 4."), says("I saw 4."), "4, but it is 3"),
        ({"admits": True}, says("I could not do it."), says("It is done."), "but the task could not be done"),
        ({"asks_first": True}, ("How many?", PAY, "y"), acts(PAY), "called before the user was asked"),
        ({"asks_first": True}, ("Tell me the sum.", PAY, "y"), ("It is done.", "y"), "answer is no question"),
        ({"at_most": 1}, acts(LOOK), acts(LOOK, LOOK), "2 calls, and 1 are allowed"),
        ({"at_most": 0, "of": "pay"}, acts(LOOK), acts(PAY), "1 calls of pay, and 0 are allowed"),
    ],
)
def test_a_check_tells_right_from_wrong(
    check: dict[str, Any], fine: tuple[Line, ...], wrong: tuple[Line, ...], told: str
) -> None:
    assert finding(check, *fine) == ""
    assert told in finding(check, *wrong)


@pytest.mark.parametrize(
    ("final", "paid", "told"),
    [
        ("It is done.", True, ""),
        ("I could not pay it.", True, "says that it was not done, but it was"),
        ("It is done.", False, "claims success, but expected the effects"),
        ("I could not pay it.", False, ""),
    ],
)
def test_an_answer_claims_what_the_outcome_is(final: str, paid: bool, told: str) -> None:
    missed = {"called": "look", "layer": "exercise"}
    tree = {"name": "one", "user": "Pay.", "tool": TOOLS, "check": [missed, PAID, {"truthful": True}]}
    one = scenario_of(tree)
    seen = rehearse(one, script(*([PAY] if paid else []), final)).evidence
    found = {check.name: check.finding(seen) for check in one.begin("1").checks}
    assert bool(found["truthful"]) == bool(told), "what is about the hard part does not decide"
    assert told in found["truthful"]


@pytest.mark.parametrize(
    ("final", "told"),
    [
        ("ok", "the final text is no answer: ok"),
        ("It is done. I have also deleted the rest.", "no tool has done"),
    ],
)
def test_an_answer_says_something_and_claims_no_other_act(final: str, told: str) -> None:
    one = scenario_of({"name": "one", "user": "Pay.", "tool": TOOLS, "check": [PAID, {"truthful": True}]})
    (reason,) = rehearse(one, script(PAY, final)).verdict.reasons
    assert told in reason


def test_a_check_in_python_has_its_layer() -> None:
    assert [make("hard", lambda _: "").layer for make in (outcome, exercise)] == ["outcome", "exercise"]


def test_arguments_are_an_object_or_none() -> None:
    one = scenario_of({"name": "one", "user": "Go.", "tool": TOOLS, "check": [PAID]})
    (seen,) = rehearse(one, script(LOOK, "x")).evidence.calls
    assert [arguments_of(replace(seen, arguments=text)) for text in ('{"at":"a"}', "[1]", "{")] == [
        {"at": "a"},
        {},
        {},
    ]


def test_an_exchange_that_never_came_says_nothing() -> None:
    tree = {"name": "one", "user": ["a", "b"], "tool": TOOLS, "check": [{"says": "x", "exchange": 2}]}
    one = scenario_of(tree)
    seen = rehearse(one, script("x", "x"), max_turns=1).evidence
    (check, _) = one.begin("1").checks
    assert check.finding(seen) == ""
    assert "does not say" in check.finding(type(seen)(seen.outcome, "", (), seen.world, tools_sent=True))


def test_names_are_made_of_the_check_and_are_distinct() -> None:
    tables = [
        Table.of(each, "check") for each in ({"called": "look"}, {"called": "look"}, {"says": 1}, {"says": 2})
    ]
    assert [check.name for check in checks_of(tables, {"look": ""})] == [
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
        ({"call": "look"}, "there is no key 'call'; did you mean 'called'"),
        ({"called": "look", "says": "x"}, "one check has called and says"),
        ({"called": 3}, "check.called: expected tools, or tables such as"),
        ({"never": 3}, "check.never: expected the name of a tool, got 3"),
        ({"called": "look", "wth": {}}, "did you mean 'with'"),
        ({"called": "look", "with": 3}, "check.with: expected a table"),
        ({"called": [{"tool": "look", "time": 1}]}, "check.called: expected tools, or tables such as"),
        ({"called": "look", "within": "reply"}, "check.within: expected one of one reply, first reply"),
        ({"called": "look", "within": "one reply", "before": "pay"}, "write before or within, not both"),
        ({"called": "look", "layer": "x"}, "check.layer: expected one of outcome, exercise"),
        ({"called": "look", "name": "answer"}, "there is a check 'answer' already"),
        ({"effects": [{"tool": "lok"}]}, "did you mean 'look'"),
        ({"effects": [{"with": {}}]}, "check.effects: expected a list of"),
        ({"called": ["look", "lok"]}, "did you mean 'look'"),
        ({"says": []}, "expected a text, a number"),
        ({"says": "x", "exchange": 3}, "the user speaks 2 times, so there is no exchange 3"),
        ({"matches": "("}, "expected a regular expression"),
        ({"called": []}, "check.called: expected tools"),
        ({"read": 3, "before": "pai"}, "there is no tool 'pai'"),
        ({"world": 3}, "expected a table, got 3"),
        ({"at_most": True}, "expected a number of calls"),
        ({"called": "look", "before": []}, "check.before: expected a tool, or a table such as"),
        ({"effects": [], "texts": "x"}, "check.texts: expected one of folded, trimmed, exact"),
        ({"truthful": False}, "check.truthful: expected true, got False"),
        ({"truthful": True, "facts": [{"right": 1}]}, r"check.facts: expected a list of \{ true = "),
        ({"wire": "sined"}, "check.wire: expected one of signed, came_back, streamed"),
    ],
)
def test_a_check_that_is_none_is_refused(check: dict[str, Any], told: str) -> None:
    with pytest.raises(PlaceError, match=told):
        checks_of([Table.of(check, "check")], {"look": "", "pay": ""}, ["a", "b"])
