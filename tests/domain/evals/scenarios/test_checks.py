from __future__ import annotations

from dataclasses import replace

import pytest

from toolreel_core._protocol import Completed
from toolreel_core.evals import (
    Evidence,
    ObservedCall,
    ObservedTurn,
    Workspace,
    argument_omitted,
    arguments_of,
    called,
    called_before,
    error_occurred,
    exercise,
    first_calls_are,
    no_calls,
    outcome,
    parallel_calls_made,
    says_done,
    says_something,
    world_has,
)

GET = ObservedCall("get", '{"id":1}', True, (), "{}")
PUT = ObservedCall("put", "{}", False, ("TOO_LARGE",), "{}")
TEXT = ObservedTurn("stop", (), "")


def seen(*turns: ObservedTurn, final: str = "Done.") -> Evidence:
    world = Workspace.of("1", draft={"foo": True})
    return Evidence(Completed(final), final, turns, world, None, tools_sent=True)


def turn(*calls: ObservedCall) -> ObservedTurn:
    return ObservedTurn("tool_calls", calls, "")


def test_a_check_has_a_layer() -> None:
    assert (outcome("a", no_calls).layer, exercise("a", no_calls).layer) == ("outcome", "exercise")


@pytest.mark.parametrize("final", ["Done.", "done", "DONE!", ' "Done." ', "`done`", "'Done.'"])
def test_the_agreed_word_is_taken_in_many_forms(final: str) -> None:
    assert says_done(seen(final=final)) == ""


@pytest.mark.parametrize("final", ["", "Done. I set foo.", "Done..", "It is done."])
def test_anything_else_is_not_the_agreed_word(final: str) -> None:
    assert says_done(seen(final=final)) == f"the final text is not the agreed word: {final}"


def test_a_long_text_is_told_in_short() -> None:
    assert says_done(seen(final="x" * 100)).endswith(f": {'x' * 80}…")


def test_a_text_is_not_blank() -> None:
    assert says_something(seen(final="x")) == ""
    assert says_something(seen(final=" \n"))


def test_a_value_of_the_world_is_compared_as_json() -> None:
    assert world_has("/draft/foo", True)(seen()) == ""
    assert world_has("/draft/foo", 1)(seen()) == "/draft/foo should be 1, it is true"
    assert world_has("/draft/none", "x")(seen()) == '/draft/none should be "x", it is null'


def test_arguments_are_an_object_or_none() -> None:
    assert arguments_of(GET) == {"id": 1}
    assert arguments_of(replace(GET, arguments="[1]")) == {}
    assert arguments_of(replace(GET, arguments="{")) == {}


def test_the_first_turn_with_calls_is_looked_at() -> None:
    both = first_calls_are("put", "get")
    assert both(seen(TEXT, turn(GET, PUT), turn(GET))) == ""
    assert both(seen(turn(GET), turn(GET, PUT))) == "the first calls were ['get'], not ['get', 'put']"
    assert both(seen(TEXT)) == "the first calls were [], not ['get', 'put']"


def test_one_tool_comes_before_another() -> None:
    first = called_before("get", before="put")
    assert first(seen(turn(GET, PUT))) == ""
    assert first(seen(turn(GET))) == ""
    assert first(seen(turn(PUT, GET))) == "get was not called before put"
    assert first(seen()) == "get was not called before put"


def test_a_call_worked() -> None:
    assert called("get")(seen(turn(PUT, GET))) == ""
    assert called("put")(seen(turn(PUT, GET))) == "put was never called with success"


def test_nothing_was_called() -> None:
    assert no_calls(seen(TEXT)) == ""
    assert no_calls(seen(turn(GET), turn(PUT))) == "nothing was to be called, and get, put was"


def test_an_error_came_up() -> None:
    assert error_occurred("TOO_LARGE")(seen(turn(GET, PUT))) == ""
    assert error_occurred("TOO_LARGE", "put")(seen(turn(PUT))) == ""
    assert error_occurred("TOO_LARGE", "get")(seen(turn(PUT))) == "TOO_LARGE never came up"
    assert error_occurred("OTHER")(seen(turn(PUT))) == "OTHER never came up"


def test_an_argument_was_left_out() -> None:
    assert argument_omitted("id")(seen(turn(PUT))) == ""
    assert argument_omitted("id")(seen(turn(PUT, GET))) == "id was given to get"


def test_calls_were_made_together() -> None:
    assert parallel_calls_made(seen(turn(GET), turn(GET, PUT))) == ""
    assert parallel_calls_made(seen(turn(GET), turn(PUT))) == "no turn made two calls at once"
