"""What is not as in the twin world is found, and told by its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.bfcl.comparing import Message, states_apart, transcript_apart
from benchmarks.bfcl.worlds import Deed, public
from toolreel_core._jsontext import Json

CD = Deed("cd", '{"folder": "a"}', {"at": "/a"})
LS = Deed("ls", "{}", ["x"])
RM = Deed("rm", '{"name": "x"}', "no such file", failed=True)


def called(*calls: tuple[str, str, str]) -> Message:
    entries = [
        {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
        for identity, name, arguments in calls
    ]
    return {"role": "assistant", "content": "", "tool_calls": entries}


def result(identity: str, name: str, data: Json, *errors: Json) -> Message:
    tree = {"ok": not errors, "tool_name": name, "data": data, "warnings": [], "errors": errors}
    return {"role": "tool", "tool_call_id": identity, "content": json.dumps(tree)}


FIRST = called(("a", "cd", '{"folder":"a"}'), ("b", "ls", "{}"))
IN_A = result("a", "cd", {"at": "/a"})
LISTED = result("b", "ls", {"value": ["x"]})
SECOND = called(("c", "rm", '{"name":"x"}'))
NO_FILE = result("c", "rm", {}, {"code": "ARGUMENT_ERROR", "message": "no such file"})
BYE: Message = {"role": "assistant", "content": "Bye."}


def apart(*messages: Message, used: tuple[str, ...] = ()) -> str:
    return transcript_apart(messages, [CD, LS, RM], "Bye.", set(used))


def test_a_transcript_that_tells_what_was_executed_is_right() -> None:
    assert apart(FIRST, IN_A, LISTED, SECOND, NO_FILE, BYE) == ""


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ((), "the turn ends with {}"),
        ((FIRST, IN_A, LISTED, SECOND, NO_FILE), "the turn ends with {'role': 'tool'"),
        ((FIRST, IN_A, LISTED, SECOND, NO_FILE, {**BYE, "content": "Hm."}), "'content': 'Hm.'"),
        ((FIRST, LISTED, IN_A, SECOND, NO_FILE, BYE), "calls that wait for results: 2"),
        ((FIRST, IN_A, SECOND, NO_FILE, BYE), "calls that wait for results: 1"),
        ((FIRST, IN_A, LISTED, LISTED, SECOND, NO_FILE, BYE), "calls that wait for results: 0"),
        ((FIRST, IN_A, LISTED, SECOND, BYE), "calls without a result: 1"),
        ((FIRST, IN_A, LISTED, BYE), 'the transcript has None, executed was rm{"name": "x"}'),
        ((FIRST, IN_A, LISTED, called(("c", "rm", "{}")), NO_FILE, BYE), "the transcript has rm{}"),
        ((FIRST, IN_A, result("b", "ls", {}), SECOND, NO_FILE, BYE), "of ls{} the transcript tells"),
        ((FIRST, IN_A, LISTED, SECOND, result("c", "rm", {}), BYE), 'of rm{"name": "x"} the transcript'),
    ],
)
def test_what_is_wrong_in_a_transcript_is_told(messages: tuple[Message, ...], found: str) -> None:
    assert found in apart(*messages)


def test_an_id_of_an_earlier_turn_is_not_taken_again() -> None:
    told = apart(FIRST, IN_A, LISTED, SECOND, NO_FILE, BYE, used=("b",))
    assert told == "the id b comes twice in the conversation"


class Folder:
    def __init__(self, name: str, above: Folder | None = None) -> None:
        self.name = name
        self.above = above
        self.within: dict[str | int, Any] = {}
        self._changed = object()


def test_states_are_compared_by_all_that_is_public_however_it_hangs_together() -> None:
    one, other = Folder("root"), Folder("root")
    for root in (one, other):
        root.within["a"] = Folder("a", root)
    assert states_apart(public(one), public(other)) == ""
    other.within["a"].within[1] = (1, {2})
    apart = states_apart(public(one), public(other))
    assert apart == "state.within.str a.within.int 1 is None, expected [1, '{2}']"
    assert states_apart({"a": 1, "b": 2}, {"b": 2, "a": 1}) == "state has ['a', 'b'], expected ['b', 'a']"
