from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.replay.records import ADDING, SUM, add, adding, recorded
from toolreel._errors import ForkError
from toolreel._journal.record import MemoryJournal, parse_journal
from toolreel._replay.carry_over import Stop
from toolreel._replay.changes import Changes
from toolreel._replay.counterfactual import counterfactual
from toolreel._replay.run_in_progress import Underway
from toolreel.testing._scripted import calling, saying
from toolreel.tools._python.host import PythonTools
from toolreel.tools._python.tool import Tool
from toolreel_core._conversation.message import ToolMessage
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._protocol.events import CancelRequested, ReplyReceived, ToolReturned
from toolreel_core._protocol.outcome import Cancelled, Completed, MaxTurns

RUN = recorded()
FENCED = '```json\n{"name": "add", "arguments": {"a": 2, "b": 40}}\n```'


def test_the_same_configuration_comes_to_the_same() -> None:
    told = counterfactual(RUN, Changes())
    assert (told.was, told.now, told.carried, told.stop) == (*[Completed("It is 43.")] * 2, 5, None)
    assert told.forked.recorded.text == RUN.text


def test_another_model_and_prompt_are_told_the_same_answers() -> None:
    told = counterfactual(RUN, Changes(model="other", prompt="Add!"))
    assert (told.now, told.carried) == (Completed("It is 43."), 5)
    assert told.forked.recorded.events == RUN.events


def test_a_run_that_ends_earlier_leaves_events_unused() -> None:
    told = counterfactual(RUN, Changes(config={"max_turns": 1}))
    assert (told.was, told.now) == (Completed("It is 43."), MaxTurns(1))
    assert (told.carried, told.stop) == (2, None)


def test_a_run_that_would_go_on_stops_where_the_record_ends() -> None:
    told = counterfactual(recorded(SUM[:2], adding(max_turns=2)), Changes(config={"max_turns": 3}))
    assert (told.was, told.now) == (MaxTurns(2), None)
    assert told.stop == Stop(
        5, "the record has no event 5; the run is in phase AwaitingReply and wants a request with 5 messages"
    )


def test_a_dialect_that_is_read_after_all_wants_a_tool_that_nobody_ran() -> None:
    source = recorded([saying(FENCED)])
    told = counterfactual(source, Changes(config={"text_dialects": ["json_fenced"]}))
    assert (told.was, told.now) == (Completed(FENCED), None)
    assert told.stop == Stop(
        2, 'the record has no event 2; the run is in phase AwaitingTools and wants add({"a":2,"b":40})'
    )


def test_a_dialect_that_is_no_longer_read_makes_the_call_an_answer() -> None:
    source = recorded([saying(FENCED), saying("42")], adding(text_dialects=["json_fenced"]))
    told = counterfactual(source, Changes(config={"text_dialects": []}))
    assert (told.was, told.now, told.carried) == (Completed("42"), Completed(FENCED), 1)


def test_a_call_that_is_no_longer_heard_stops_at_its_recorded_result() -> None:
    source = recorded([calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})), saying("2 and 4.")])
    told = counterfactual(source, Changes(config={"max_tool_calls_per_turn": 1}))
    assert told.carried == 2
    assert told.stop == Stop(
        3,
        'the record answers add({"a":2,"b":2}); the run is in phase AwaitingReply and wants a request with '
        "3 messages",
    )


def test_results_go_to_the_calls_that_they_were_given_to_wherever_those_stand_now() -> None:
    both = calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2}))
    source = recorded([both, saying("2 and 4.")])
    reading = PythonTools([Tool.of(add, read_only=True)]).surface
    told = counterfactual(source, Changes(tools=reading, config={"parallel_tools": True}))
    back = counterfactual(told.forked.recorded, Changes(tools=ADDING.tools, config={"parallel_tools": False}))
    for each in (told, back):
        assert (each.now, each.carried) == (Completed("2 and 4."), 4)
        assert [event.output for event in each.forked.recorded.events if isinstance(event, ToolReturned)] == [
            "2",
            "4",
        ]


def test_late_answers_to_calls_that_were_never_made_are_left_out() -> None:
    reading = PythonTools([Tool.of(add, read_only=True)]).surface
    plan = replace(adding(parallel_tools=True), tools=reading)
    both = calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2}))
    journal, run = MemoryJournal(plan), Underway(plan)
    for effect, event in (
        (run.wanted[1], ReplyReceived(1, 200, canonical(both))),
        (None, CancelRequested("enough")),
    ):
        journal.record(effect, event)
        run.take(effect, event)
    for ref, effect in run.wanted.items():
        journal.record(effect, ToolReturned(ref, "2"))
    stopped = parse_journal(journal.text)
    assert counterfactual(stopped, Changes()).carried == 4
    told = counterfactual(stopped, Changes(config={"parallel_tools": False}))
    assert (told.now, told.carried, told.stop) == (Cancelled("enough"), 3, None)


def test_an_answer_that_came_after_the_end_is_none_to_a_run_that_goes_on() -> None:
    plan = adding(context_window_tokens=1)
    journal = MemoryJournal(plan)
    journal.record(None, ToolReturned(7, "{}"))
    over = parse_journal(journal.text)
    assert counterfactual(over, Changes()).carried == 1
    told = counterfactual(over, Changes(config={"context_window_tokens": None}))
    assert told.stop == Stop(
        1,
        "the record has an answer that came after its end; the run is in phase AwaitingReply and wants a "
        "request with 1 messages",
    )


def test_a_lower_limit_of_output_changes_what_the_model_is_told_and_not_what_it_said() -> None:
    told = counterfactual(RUN, Changes(config={"max_tool_output_bytes": 1}))
    assert (told.now, told.carried) == (Completed("It is 43."), 5)
    results = [m.content for m in told.forked.run.state.messages.messages if isinstance(m, ToolMessage)]
    assert all("TOOL_OUTPUT_TOO_LARGE" in content for content in results)


def test_there_is_no_result_to_change_where_nothing_is_kept() -> None:
    with pytest.raises(ForkError, match="event 0 is no result of a tool"):
        counterfactual(RUN, Changes(tool_result="7"))
