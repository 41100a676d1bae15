"""Streams of replies whose decoding is constrained: the JSON of calls is never shown as an answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.driver.test_partial_outputs import events_of
from toolreel import Completed
from toolreel.stream_events import (
    PartialOutput,
    RunEnded,
    StreamEvent,
    TextDelta,
    TextWithdrawn,
    ToolStarted,
)
from toolreel.testing import saying, streaming
from toolreel_core import Json

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def constrained(*script: object, output: object = None) -> list[StreamEvent]:
    return events_of(*script, output=output, constrained_calls="response_format")


def shown(events: list[StreamEvent]) -> str:
    assert not [event for event in events if isinstance(event, TextWithdrawn)]
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def ended(events: list[StreamEvent]) -> Completed:
    assert isinstance(events[-1], RunEnded)
    outcome = events[-1].run.outcome
    assert isinstance(outcome, Completed)
    return outcome


def test_of_a_call_nothing_is_shown_and_of_the_answer_its_text_as_it_grows() -> None:
    events = constrained(
        streaming('{"name": "lo', 'ok", "arguments": {"at": "the sea"}}'),
        streaming('{"name": "final_answer", "arg', 'uments": {"answer": "It is', " bl", 'ue."}}'),
    )
    assert shown(events) == "It is blue."
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    assert len([event for event in events if isinstance(event, ToolStarted)]) == 1
    assert ended(events).content == "It is blue."


def test_a_server_that_ignores_stream_shows_the_answer_too() -> None:
    events = constrained(saying('{"name": "final_answer", "arguments": {"answer": "Blue."}}'))
    assert shown(events) == "Blue."


@pytest.mark.parametrize("pieces", [("Bl", "ue."), (" ", "\nBlue."), ("Blue.",)])
def test_words_of_a_server_that_ignores_the_constraint_are_shown_as_they_come(
    pieces: tuple[str, ...],
) -> None:
    events = constrained(streaming(*pieces))
    assert shown(events).strip() == "Blue."


def test_a_value_grows_out_of_the_arguments_of_the_final_call() -> None:
    events = constrained(
        streaming('{"name": "look", "arguments": {"at": "x"}}'),
        streaming('{"name": "final_answer", "argum', 'ents": {"n": 4}', "}"),
        output=COUNT,
    )
    values: list[Json] = [event.value for event in events if isinstance(event, PartialOutput)]
    assert values[-1] == {"n": 4}
    assert all(value in ({}, {"n": 4}) for value in values)
    assert shown(events) == ""
    assert ended(events).value == '{"n":4}'


@given(st.text(min_size=1).filter(str.strip), st.lists(st.integers(1, 30), max_size=8))
def test_however_a_reply_is_cut_its_answer_is_shown_once(text: str, cuts: list[int]) -> None:
    whole = json.dumps({"name": "final_answer", "arguments": {"answer": text}})
    pieces, rest = list[str](), whole
    for cut in cuts:
        pieces, rest = [*pieces, rest[:cut]], rest[cut:]
    events = constrained(streaming(*(piece for piece in (*pieces, rest) if piece)))
    assert shown(events) == ended(events).content
