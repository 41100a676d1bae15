from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio
import pytest

from tests.adapters.driver.immediate import ImmediatePerformer
from tests.adapters.replay.records import ADDING, NEEDS_APPROVAL, SUM, add, adding, asking_first, recorded
from tests.adapters.replay.test_trace import stopped
from tests.samples import complaint
from toolreel._driver.aio import ago_on
from toolreel._driver.performer import Always, Ports
from toolreel._driver.sync import run
from toolreel._errors import ForkError
from toolreel._journal.record import MemoryJournal
from toolreel._replay.carry_over import Stop
from toolreel._replay.changes import Changes
from toolreel._replay.fork import beginning, fork
from toolreel._replay.replayer import Rehearsal
from toolreel.testing._scripted import Lost, ScriptedEndpoint, ScriptedTools, calling, saying
from toolreel.tools._python.host import PythonTools
from toolreel.tools._python.tool import Tool
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._jsontext.canonical import Json
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool, SendRequest
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._protocol.notes import Note, RequestSent
from toolreel_core._protocol.outcome import Cancelled, Completed, MaxTurns
from toolreel_core._protocol.state import AwaitingApproval

RUN = recorded()
TWO_CALLS = (calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})), saying("2 and 4."))


def scripted(*script: Mapping[str, Json], outputs: tuple[int, ...] = ()) -> tuple[ScriptedEndpoint, Ports]:
    endpoint = ScriptedEndpoint(script)
    return endpoint, Ports(endpoint, ScriptedTools({"add": outputs}))


# What is kept, and what is new.


def test_a_fork_without_a_change_that_its_record_answers_is_the_same_run() -> None:
    for at in range(len(RUN.records) + 1):
        forked = fork(RUN, at)
        assert forked.recorded.text == RUN.text
        assert forked.outcome == Completed("It is 43.")
        assert forked.stop is None


def test_after_the_kept_events_a_script_goes_on() -> None:
    endpoint, ports = scripted(saying("Enough."))
    forked = fork(RUN, 2, performer=ports)
    endpoint.finish()
    assert forked.outcome == Completed("Enough.")
    assert forked.recorded.records[:2] == RUN.records[:2]
    assert [effect.ref for effect in endpoint.asked] == [3]
    assert endpoint.asked[0].request.messages.texts == forked.begun.state.messages.texts


def test_another_result_is_what_the_model_is_told_and_all_before_it_stays() -> None:
    endpoint, ports = scripted(saying("So it is 7."))
    forked = fork(RUN, 2, Changes(tool_result="7"), performer=ports)
    assert forked.outcome == Completed("So it is 7.")
    assert forked.begun.plan == ADDING
    assert forked.recorded.events[:2] == (RUN.events[0], ToolReturned(2, "7"))
    assert forked.recorded.records[1].fp == RUN.records[1].fp
    assert '\\"value\\":7' in endpoint.asked[0].request.messages.texts[-1]


def test_a_changed_plan_holds_from_the_beginning_and_the_kept_answers_stand() -> None:
    endpoint, ports = scripted(saying("Bonjour."))
    forked = fork(RUN, 4, Changes(model="other", system="Speak French."), performer=ports)
    assert forked.recorded.events[:4] == RUN.events[:4]
    assert [record.fp for record in forked.recorded.records[:2]] != [record.fp for record in RUN.records[:2]]
    (asked,) = endpoint.asked
    assert (asked.request.model, len(asked.request.messages.texts)) == ("other", 6)
    assert "Speak French." in asked.request.messages.texts[0]


def test_a_limit_can_be_raised_where_it_ended_the_run() -> None:
    short = recorded(SUM[:2], adding(max_turns=2))
    assert fork(short, 4).outcome == MaxTurns(2)
    _, ports = scripted(saying("It is 43."))
    assert fork(short, 4, Changes(config={"max_turns": 3}), performer=ports).outcome == Completed("It is 43.")


def test_a_limit_can_be_lowered() -> None:
    forked = fork(RUN, 1, Changes(config={"max_turns": 1}))
    assert forked.outcome == MaxTurns(1)
    assert len(forked.answered) == 2


def test_another_record_answers_from_its_event_after_the_kept_ones() -> None:
    other = recorded([*SUM[:2], saying("43!")], replace(ADDING, model="other"))
    forked = fork(RUN, 2, answers=other)
    assert forked.outcome == Completed("43!")
    assert forked.begun.plan == ADDING


def test_a_run_can_be_forked_between_two_calls_of_a_reply() -> None:
    plan = replace(adding(parallel_tools=True), tools=PythonTools([reading()]).surface)
    source = recorded(TWO_CALLS, plan, tools=[reading()])
    endpoint, ports = scripted(saying("2 and 5."), outputs=(5,))
    forked = fork(source, 2, performer=ports)
    assert [event.output for event in forked.recorded.events if isinstance(event, ToolReturned)] == ["2", "5"]
    assert len(endpoint.asked[0].request.messages.texts) == 4


def reading() -> Tool:
    return Tool.of(add, read_only=True)


def test_a_run_that_rests_goes_on_once_somebody_approves() -> None:
    resting = recorded(SUM[1:], NEEDS_APPROVAL, tools=asking_first())
    stopped_at = fork(resting, 1)
    assert stopped_at.outcome is None
    assert isinstance(stopped_at.run.state.phase, AwaitingApproval)
    assert stopped_at.stop == Stop(
        2,
        "the record has no event 2; the run is in phase AwaitingApproval and wants approval of "
        'add({"a":42,"b":1})',
    )
    approving = Ports(ScriptedEndpoint([saying("43.")]), PythonTools([add]), Always())
    assert fork(resting, 1, performer=approving).outcome == Completed("43.")
    assert fork(resting, 1, performer=scripted()[1]).stop is None


def test_a_run_that_was_stopped_goes_on_from_before_that() -> None:
    source = stopped("enough", ToolReturned(2, "42"))
    assert fork(source, 3).outcome == fork(source, 0).outcome == Cancelled("enough")
    assert fork(source, 3).recorded.text == fork(source, 1).recorded.text == source.text
    _, ports = scripted(saying("It is 42."), outputs=(42,))
    assert fork(source, 1, performer=ports).outcome == Completed("It is 42.")


# A fork is a record like any other.


def test_the_journal_of_a_fork_replays_and_can_be_forked_again() -> None:
    _, ports = scripted(saying("Enough."))
    forked = fork(RUN, 2, Changes(model="other"), performer=ports).recorded
    again = MemoryJournal(forked.plan)
    run(forked.plan, Rehearsal(forked), journal=again)
    assert again.text == forked.text
    back = fork(forked, 2, Changes(model="m"), answers=RUN)
    assert back.recorded.text == RUN.text


def test_a_journal_of_the_users_own_is_told_the_kept_events_first() -> None:
    made: list[MemoryJournal] = []

    def make(plan: Plan) -> MemoryJournal:
        made.append(MemoryJournal(plan))
        return made[-1]

    _, ports = scripted(saying("Enough."))
    live = fork(RUN, 2, Changes(seed=5), performer=ports, journal=make)
    told = fork(RUN, 2, Changes(seed=5), journal=make)
    assert [journal.text for journal in made] == [live.recorded.text, told.recorded.text]


def test_an_observer_is_shown_what_is_waited_for_and_what_is_new() -> None:
    seen: list[Note] = []
    _, ports = scripted(saying("Enough."))
    forked = fork(RUN, 4, performer=ports, observe=seen.append)
    assert [note.turn for note in seen if isinstance(note, RequestSent)] == [3]
    assert forked.run.notes[-len(seen) :] == tuple(seen)
    assert [note.turn for note in forked.run.notes if isinstance(note, RequestSent)] == [1, 2, 3]


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_any_driver_can_go_on_from_the_beginning_of_a_fork(runtime: str) -> None:
    begun = beginning(RUN, 4)
    assert begun.kept == 4
    _, ports = scripted(saying("Enough."))
    ended = anyio.run(ago_on, begun.state, ImmediatePerformer(ports), backend=runtime)
    assert ended.outcome == Completed("Enough.")


def test_calls_of_a_fork_have_the_recorded_keys_unless_it_has_another_seed() -> None:
    def key(changes: Changes) -> str:
        (effect,) = [effect for effect, _ in fork(RUN, 0, changes).answered if isinstance(effect, RunTool)][
            :1
        ]
        return effect.key

    assert key(Changes()) == key(Changes(tool_result=None)) != key(Changes(seed=1))


# Where a run cannot be forked.


@pytest.mark.parametrize("at", [-1, 6])
def test_a_number_out_of_range_is_answered_with_all_events(at: int) -> None:
    said = complaint(ForkError, lambda: fork(RUN, at)).splitlines()
    why = f"there is no event {at} to fork at"
    assert said[0] == f"here: {why}; the run can be forked at 0 (before all) to 5, after one of:"
    assert said[1:] == [
        '  1  reply: add({"a":2,"b":40})',
        '  2  add({"a":2,"b":40}) returned 42',
        '  3  reply: add({"a":42,"b":1})',
        '  4  add({"a":42,"b":1}) returned 43',
        "  5  reply: It is 43.",
    ]


def test_a_call_may_be_named_by_its_id_where_that_is_its_own() -> None:
    assert beginning(recorded(TWO_CALLS), "call_b").kept == 3
    said = complaint(ForkError, lambda: fork(RUN, "call_a"))
    assert "the call id 'call_a' was used several times, in events 2, 4; name one by its number" in said
    assert "no result of a call 'call_z'" in complaint(ForkError, lambda: fork(RUN, "call_z"))


@pytest.mark.parametrize("at", [0, 1, 5])
def test_only_the_result_of_a_tool_can_be_changed(at: int) -> None:
    said = complaint(ForkError, lambda: fork(RUN, at, Changes(tool_result="7")))
    assert f"event {at} is no result of a tool" in said


def test_kept_events_that_do_not_fit_the_changed_plan_are_named_with_the_phase() -> None:
    said = complaint(ReplayMismatch, lambda: fork(RUN, 4, Changes(config={"max_turns": 1})))
    assert said == (
        "here, event 3: it does not fit the changed run: the run is in phase Settled after event 2, as "
        'max_turns. Fork at 2 or before. The event: reply: add({"a":42,"b":1})'
    )
    said = complaint(ReplayMismatch, lambda: fork(RUN, 2, Changes(tools=NEEDS_APPROVAL.tools)))
    assert said.startswith(
        'here, event 2: it does not fit the changed run: the record answers add({"a":2,"b":40}); the run is '
        'in phase AwaitingApproval and wants approval of add({"a":2,"b":40}). Fork at 1 or before.'
    )


def test_a_change_that_makes_no_plan_is_refused_before_anything_is_asked() -> None:
    endpoint, ports = scripted()
    with pytest.raises(ConfigError):
        fork(RUN, 0, Changes(config={"max_turns": 0}), performer=ports)
    assert endpoint.asked == []


def test_a_retry_that_the_changed_run_does_not_make_is_where_the_record_stops_to_fit() -> None:
    source = recorded([Lost("timeout", "ReadTimeout"), *SUM])
    assert fork(source, 0).recorded.text == source.text
    forked = fork(source, 0, Changes(config={"max_tries": 1}))
    assert forked.outcome is not None
    assert (forked.outcome.name, len(forked.answered)) == ("transport", 1)
    assert isinstance(forked.answered[0].effect, SendRequest)
