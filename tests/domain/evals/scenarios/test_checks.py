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
        ({"called": "pay", "times": 1}, acts(PAY), acts(PAY, PAY), "was called 2 times with success, not 1"),
        ({"never": "pay"}, acts(LOOK), acts(PAY), 'pay was called with {"sum":2}'),
        ({"never": "pay", "with": {"sum": 3}}, acts(PAY), acts(call("pay", sum=3.0)), "pay was called"),
        (
            {"effects": [{"tool": "pay", "with": {"sum": 2}}]},
            acts(LOOK, PAY),
            acts(PAY, NAME),
            "expected the effects",
        ),
        ({"effects": []}, acts(LOOK), acts(PAY), "expected the effects [], got"),
        (
            {"order": ["look", "pay"]},
            (LOOK, "x", PAY, "y"),
            acts(PAY, LOOK),
            "pay was not called in the order",
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
        ({"tried": "look", "with": {"at": "a"}}, acts(LOOK, LOST), acts(LOST, LOOK), "not first tried"),
        ({"omits": "at"}, acts(PAY), acts(PAY, LOOK), "at was given to look"),
        ({"called_before": ["look", "pay"]}, acts(LOST, PAY), acts(PAY, LOOK), "look was not called before"),
        ({"called_before": ["look", "pay"]}, acts(LOOK), acts(), "look was not called before pay"),
        (
            {"followed_by": ["pay", "look"]},
            acts(PAY, LOOK, PAY),
            acts(PAY, PAY, LOOK),
            "not called right after",
        ),
        (
            {"first_calls": ["pay", "look"]},
            acts(LOOK + PAY, PAY),
            acts(LOOK, PAY),
            "the first calls were ['look']",
        ),
        ({"first_calls": ["look"]}, acts(LOOK), acts(), "the first calls were [], not ['look']"),
        ({"failed_first": "look"}, acts(LOST, LOOK), acts(LOOK, LOST), "no look failed before one worked"),
        ({"error": "NOT_FOUND", "of": "look"}, acts(LOST), acts(LOOK), "NOT_FOUND never came up"),
        ({"at_once": 2}, acts(LOOK + PAY), acts(LOOK, PAY), "made 2 calls at once, at most 1"),
        ({"at_once": 2, "of": "look"}, acts(LOOK + LOST), acts(LOOK + PAY), "no reply made 2 calls of look"),
        (
            {"one_reply": {"look": False, "pay": True}},
            acts(LOST + PAY),
            acts(LOST, PAY),
            "no reply had a look that failed and a pay that worked",
        ),
        ({"answer_is": "Done"}, says(' "DONE!" '), says("Done.."), "not the agreed word: Done.."),
        ({"answer_is": "Done", "exchange": 1}, ("done", "x"), ("It is done.", "x"), "not the agreed word"),
        (
            {"read": [3], "before": "pay"},
            acts(LOOK, PAY),
            acts(LOOK + PAY),
            "pay was called before any result told 3",
        ),
        (
            {"read_before_used": ["a"], "of": ["set_name"]},
            acts(call("look", at="a"), call("set_name", name="b")),
            acts(call("set_name", name="a")),
            "set_name was called with a before any result told it",
        ),
        (
            {"truthful": True, "tells": [42, "o-17"]},
            says("There are 42 in o-17."),
            says("There are 42."),
            "does not tell o-17",
        ),
        (
            {"truthful": True, "facts": [{"true": 3, "false": [4, 5]}]},
            says("I saw 3 of 4."),
            says("I saw 4."),
            "names 4, but it is 3",
        ),
        (
            {"admits": True},
            says("I could not do it."),
            says("It is done."),
            "claims success, but the task could not be done",
        ),
        (
            {"asks_first": True},
            ("How many?", PAY, "y"),
            acts(PAY),
            "pay was called before the user was asked",
        ),
        (
            {"asks_first": True},
            ("Tell me how many.", PAY, "y"),
            ("It is done.", "y"),
            "the first answer is no question",
        ),
        ({"at_most": 1}, acts(LOOK), acts(LOOK, LOOK), "2 calls, and 1 are allowed"),
        ({"at_most": 0, "of": "pay"}, acts(LOOK), acts(PAY), "1 calls of pay, and 0 are allowed"),
    ],
)
def test_a_check_tells_right_from_wrong(
    check: dict[str, Any], fine: tuple[Line, ...], wrong: tuple[Line, ...], told: str
) -> None:
    assert finding(check, *fine) == ""
    assert told in finding(check, *wrong)


PAID: dict[str, Any] = {"effects": [{"tool": "pay", "with": {"sum": 2}}], "name": "paid"}


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
    missed = {"order": ["look", "pay"], "layer": "exercise"}
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
        ({"order": ["look", "lok"]}, "did you mean 'look'"),
        ({"says": []}, "expected a text, a number"),
        ({"says": "x", "exchange": 3}, "the user speaks 2 times, so there is no exchange 3"),
        ({"matches": "("}, "expected a regular expression"),
        ({"called_before": ["look"]}, "check.called_before: expected two tools"),
        ({"read": 3, "before": "pai"}, "there is no tool 'pai'"),
        ({"world": 3}, "expected a table of pointers"),
        ({"at_most": True}, "expected a number of calls"),
        ({"one_reply": {"look": 1}}, "check.one_reply: expected a table of tools, true for one that worked"),
        ({"one_reply": {"lok": True}}, "did you mean 'look'"),
        ({"effects": [], "texts": "x"}, "check.texts: expected one of folded, trimmed, exact"),
        ({"read": 3}, "check.before: write the tool that needs them"),
        ({"truthful": False}, "check.truthful: expected true, got False"),
        ({"truthful": True, "facts": [{"right": 1}]}, "check.facts: there is no key 'right'"),
        ({"wire": "sined"}, "check.wire: expected one of signed, came_back, streamed"),
    ],
)
def test_a_check_that_is_none_is_refused(check: dict[str, Any], told: str) -> None:
    with pytest.raises(PlaceError, match=told):
        checks_of([Table.of(check, "check")], {"look": "", "pay": ""}, ["a", "b"])
