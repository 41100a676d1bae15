"""Streams of tool calls as servers send them, drawn at random: no call is lost, doubled or changed.

A server has one habit for all calls of a stream. The habit, the calls and the places of the cuts are drawn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json
from toolreel_core._replies import joined_calls

ARGUMENTS = st.dictionaries(
    st.text('ab"\\{', max_size=2), st.one_of(st.integers(0, 3), st.text('{}[]"\\ aä', max_size=6)), max_size=2
)
CALLS = st.lists(st.tuples(st.sampled_from(["ping", "read", "read_file"]), ARGUMENTS), min_size=1, max_size=4)


@dataclass(frozen=True)
class Habit:
    """How a server marks the fragments of a call."""

    index: Literal["own", "zero", "none"]
    ids: Literal["first", "every", "changing", "none"]
    name: Literal["first", "every", "last"]
    arguments: Literal["cut", "whole", "object"]
    echo: Literal["no", "spaces", "reordered", "object", "next index", "no index", "at the end"]

    def is_readable(self) -> bool:
        """Whether the fragments say which call they belong to."""
        if self.index == "own":
            # With a new id and the name in each, what begins with a brace may be the next call.
            return self.name != "every" or self.ids != "changing" or self.arguments != "cut"
        if self.ids in {"first", "every"}:
            return self.name == "first" or (self.name == "every" and self.arguments != "cut")
        # Nothing but a name in front of its arguments says where the next call begins.
        return self.ids == "none" and self.name == "first"

    def is_marked(self) -> bool:
        """Whether a call that is sent again has the id that it had."""
        return self.ids in {"first", "every"}


HABITS = st.builds(
    Habit,
    st.sampled_from(["own", "zero", "none"]),
    st.sampled_from(["first", "every", "changing", "none"]),
    st.sampled_from(["first", "every", "last"]),
    st.sampled_from(["cut", "whole", "object"]),
    st.sampled_from(["no", "spaces", "reordered", "object", "next index", "no index", "at the end"]),
).filter(Habit.is_readable)


@given(HABITS, CALLS, st.data())
def test_each_call_is_read_once_and_as_it_was_sent(
    habit: Habit, calls: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    sent: list[list[Json]] = []
    echoes: list[Json] = []
    for place, (name, arguments) in enumerate(calls):
        sent.append([[fragment] for fragment in fragments(habit, place, name, arguments, data)])
        if habit.is_marked() and habit.echo != "no":
            again = echo(habit, place, name, arguments)
            (echoes if habit.echo == "at the end" else sent[-1]).append([again])
    # Fragments of several calls take turns only if each call has an index of its own, or only an id.
    apart = habit.index == "own" or (habit.index == "none" and habit.ids == "every")
    deltas = interleaved(sent, data) if apart else [delta for deltas in sent for delta in deltas]
    found = [as_value(call) for call in joined_calls(deltas + echoes)]
    assert sorted(found, key=repr) == sorted(calls, key=repr) if apart else found == calls


def interleaved(sent: list[list[Json]], data: st.DataObject) -> list[Json]:
    """The deltas of all calls in some order, those of one call in theirs."""
    waiting = [deltas[::-1] for deltas in sent]
    order = [place for place, deltas in enumerate(sent) for _ in deltas]
    return [waiting[place].pop() for place in data.draw(st.permutations(order))]


def fragments(
    habit: Habit, place: int, name: str, arguments: dict[str, Any], data: st.DataObject
) -> list[dict[str, Any]]:
    text = json.dumps(arguments)
    pieces: list[Any] = [arguments] if habit.arguments == "object" else [text]
    if habit.arguments == "cut":
        cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=3)))
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        pieces = ["", *pieces] if data.draw(st.booleans()) and habit.name != "last" else pieces
    changing = count()
    made: list[dict[str, Any]] = []
    for at, piece in enumerate(pieces):
        named = {"first": at == 0, "every": True, "last": at == len(pieces) - 1}[habit.name]
        one: dict[str, Any] = {
            "function": {"name": name, "arguments": piece} if named else {"arguments": piece}
        }
        if habit.index != "none":
            one["index"] = place if habit.index == "own" else 0
        if habit.ids == "every" or (habit.ids == "first" and at == 0):
            one["id"] = f"call_{place}"
        elif habit.ids == "changing":
            one["id"] = f"call_{place}_{next(changing)}"
        made.append(one)
    if habit.name == "last" and data.draw(st.booleans()):  # in a fragment of its own
        made.append({**made[-1], "function": {"name": name}})
        del made[-2]["function"]["name"]
    return made


def echo(habit: Habit, place: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The whole call again, under its id."""
    written: Any = json.dumps(arguments, indent=2)
    if habit.echo == "reordered":
        written = json.dumps(dict(reversed([*arguments.items()])), ensure_ascii=False)
    elif habit.echo == "object":
        written = arguments
    again: dict[str, Any] = {"id": f"call_{place}", "function": {"name": name, "arguments": written}}
    if habit.echo != "no index" and habit.index != "none":
        again["index"] = place if habit.index == "own" else 0
    return {**again, "index": place + 1} if habit.echo == "next index" else again


def as_value(call: Any) -> tuple[str, Any]:  # noqa: ANN401 - JSON
    function = call["function"]
    arguments = function["arguments"]
    return function["name"], json.loads(arguments) if isinstance(arguments, str) else arguments
