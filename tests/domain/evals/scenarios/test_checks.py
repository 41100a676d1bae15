from __future__ import annotations

from collections.abc import Callable
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
    first_calls_are,
    no_calls,
    parallel_calls_made,
    says_done,
    says_something,
    world_has,
)

GET = ObservedCall("get", '{"id":1}', True, (), "{}")
PUT = ObservedCall("put", "{}", False, ("TOO_LARGE",), "{}")
TEXT = ObservedTurn("stop", (), "")
FIRST, BEFORE = first_calls_are("put", "get"), called_before("get", before="put")


def seen(*turns: ObservedTurn, final: str = "Done.") -> Evidence:
    world = Workspace.of("1", draft={"foo": True})
    return Evidence(Completed(final), final, turns, world, None, tools_sent=True)


def turn(*calls: ObservedCall) -> ObservedTurn:
    return ObservedTurn("tool_calls", calls, "")


@pytest.mark.parametrize("final", ["Done.", "done", "DONE!", ' "Done." ', "`done`", "'Done.'"])
def test_the_agreed_word_is_taken_in_many_forms(final: str) -> None:
    assert says_done(seen(final=final)) == ""


@pytest.mark.parametrize("final", ["", "Done. I set foo.", "Done..", "It is done."])
def test_anything_else_is_not_the_agreed_word(final: str) -> None:
    assert says_done(seen(final=final)) == f"the final text is not the agreed word: {final}"


def test_a_long_text_is_told_in_short() -> None:
    assert says_done(seen(final="x" * 100)).endswith(f": {'x' * 80}…")


def test_arguments_are_an_object_or_none() -> None:
    assert arguments_of(GET) == {"id": 1}
    assert arguments_of(replace(GET, arguments="[1]")) == {}
    assert arguments_of(replace(GET, arguments="{")) == {}


@pytest.mark.parametrize(
    ("finding", "evidence", "found"),
    [
        (says_something, seen(final="x"), ""),
        (says_something, seen(final=" \n"), "the final text is blank"),
        (world_has("/draft/foo", True), seen(), ""),
        (world_has("/draft/foo", 1), seen(), "/draft/foo should be 1, it is true"),
        (world_has("/draft/none", "x"), seen(), '/draft/none should be "x", it is null'),
        (FIRST, seen(TEXT, turn(GET, PUT), turn(GET)), ""),
        (FIRST, seen(turn(GET), turn(GET, PUT)), "the first calls were ['get'], not ['get', 'put']"),
        (FIRST, seen(TEXT), "the first calls were [], not ['get', 'put']"),
        (BEFORE, seen(turn(GET, PUT)), ""),
        (BEFORE, seen(turn(GET)), ""),
        (BEFORE, seen(turn(PUT, GET)), "get was not called before put"),
        (BEFORE, seen(), "get was not called before put"),
        (called("get"), seen(turn(PUT, GET)), ""),
        (called("put"), seen(turn(PUT, GET)), "put was never called with success"),
        (no_calls, seen(TEXT), ""),
        (no_calls, seen(turn(GET), turn(PUT)), "nothing was to be called, and get, put was"),
        (error_occurred("TOO_LARGE"), seen(turn(GET, PUT)), ""),
        (error_occurred("TOO_LARGE", "put"), seen(turn(PUT)), ""),
        (error_occurred("TOO_LARGE", "get"), seen(turn(PUT)), "TOO_LARGE never came up"),
        (error_occurred("OTHER"), seen(turn(PUT)), "OTHER never came up"),
        (argument_omitted("id"), seen(turn(PUT)), ""),
        (argument_omitted("id"), seen(turn(PUT, GET)), "id was given to get"),
        (parallel_calls_made, seen(turn(GET), turn(GET, PUT)), ""),
        (parallel_calls_made, seen(turn(GET), turn(PUT)), "no turn made two calls at once"),
    ],
)
def test_a_finding_is_told_in_words(
    finding: Callable[[Evidence], str], evidence: Evidence, found: str
) -> None:
    assert finding(evidence) == found
