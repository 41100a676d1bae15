from __future__ import annotations

import pytest

from tests.adapters.chat_server import replying, serving
from toolreel.config import LoopConfig
from toolreel.effects import RunTool, SendRequest
from toolreel.errors import ProtocolError, ReplayMismatch
from toolreel.events import CancelRequested, Event, ReplyReceived, ToolReturned
from toolreel.loop import fold
from toolreel.messages import ToolMessage
from toolreel.notes import CallEnded, CallStarted, Note, ReplyRead, RequestLost, RequestSent, RunSettled
from toolreel.outcome import Cancelled, Completed, MaxTurns, TransportFailed
from toolreel.plan import Plan
from toolreel_adapters.drive import run
from toolreel_adapters.http import HttpEndpoint
from toolreel_adapters.journal import MemoryJournal, parse_journal
from toolreel_adapters.perform import Ports
from toolreel_adapters.ports import Performer
from toolreel_adapters.python_tools import PythonTools
from toolreel_adapters.scripted import Lost, ScriptedEndpoint, ScriptedTools, calling, saying


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


PLAN = Plan.of(model="m", messages="What is 2 + 40?", tools=PythonTools([add]).surface)
SUM = [calling(("add", {"a": 2, "b": 40})), saying("It is 42.")]


def test_a_run_goes_from_the_plan_to_the_answer() -> None:
    endpoint = ScriptedEndpoint(SUM)
    ended = run(PLAN, Ports(endpoint, PythonTools([add])))
    endpoint.finish()
    assert ended.outcome == Completed("It is 42.")
    assert [type(note) for note in ended.notes] == [
        RequestSent,
        ReplyRead,
        CallStarted,
        CallEnded,
        RequestSent,
        ReplyRead,
        RunSettled,
    ]


def test_what_a_tool_returned_is_in_the_next_request() -> None:
    endpoint = ScriptedEndpoint(SUM)
    run(PLAN, Ports(endpoint, PythonTools([add])))
    first, second = endpoint.asked
    assert [first.ref, second.ref] == [1, 3]
    assert second.request.messages.texts[-1] == (
        '{"role":"tool","tool_call_id":"call_a","content":"{\\"ok\\":true,\\"tool_name\\":\\"add\\",'
        '\\"data\\":{\\"value\\":42},\\"warnings\\":[],\\"errors\\":[]}"}'
    )


def test_several_calls_of_a_turn_run_one_after_another() -> None:
    tools = ScriptedTools({"add": [3, 7]})
    endpoint = ScriptedEndpoint(
        [calling(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), saying("3 and 7.")]
    )
    ended = run(PLAN, Ports(endpoint, tools))
    tools.finish()
    assert [effect.call_id for effect in tools.ran] == ["call_a", "call_b"]
    told = [message for message in ended.state.messages.messages if isinstance(message, ToolMessage)]
    assert [message.call_id for message in told] == ["call_a", "call_b"]


def test_a_whole_session_over_http() -> None:
    with serving(*map(replying, SUM)) as server, HttpEndpoint(server.url) as endpoint:
        ended = run(PLAN, Ports(endpoint, PythonTools([add])))
    assert ended.outcome == Completed("It is 42.")
    assert ended.state.tally.turns == len(server.seen) == 2


def test_a_far_side_that_fails_ends_the_run_and_raises_nothing() -> None:
    ended = run(PLAN, Ports(ScriptedEndpoint([Lost("timeout", "ReadTimeout")]), PythonTools([add])))
    assert ended.outcome == TransportFailed("timeout", None, "ReadTimeout")
    assert RequestLost(1, "timeout", None) in ended.notes


def test_the_run_ends_at_its_limit_of_turns() -> None:
    plan = Plan.of(model="m", messages="Go on.", tools=PLAN.tools, config=LoopConfig(max_turns=1))
    endpoint = ScriptedEndpoint(SUM)
    assert run(plan, Ports(endpoint, PythonTools([add]))).outcome == MaxTurns(1)
    assert len(endpoint.asked) == 1


def test_a_recording_that_disagrees_is_raised() -> None:
    with pytest.raises(ReplayMismatch, match="request 2 was sent"):
        run(PLAN, Ports(ScriptedEndpoint(SUM[:1]), PythonTools([add])))


class Stopping:
    """Performs effects until somebody has had enough, at one of them."""

    def __init__(self, performer: Performer, *, at: int) -> None:
        self._performer = performer
        self._left = at

    def perform(self, effect: SendRequest | RunTool) -> Event:
        self._left -= 1
        return self._performer.perform(effect) if self._left else CancelRequested("enough")


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_run_is_cancelled_at_any_effect(at: int) -> None:
    journal = MemoryJournal(PLAN)
    ports = Ports(ScriptedEndpoint(SUM), PythonTools([add]))
    ended = run(PLAN, Stopping(ports, at=at), journal=journal)
    assert ended.outcome == Cancelled("enough")
    assert parse_journal(journal.text).events[-1] == CancelRequested("enough")
    assert len(journal.lines) == 1 + at


def test_the_journal_is_enough_to_tell_the_run_again() -> None:
    journal = MemoryJournal(PLAN)
    ended = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    recorded = parse_journal(journal.text)
    assert [record.kind for record in recorded.records] == ["send_request", "run_tool", "send_request"]
    assert fold(recorded.plan, recorded.events).state == ended.state


class Watched:
    """Performs effects and notes how many lines the journal has by then."""

    def __init__(self, performer: Performer, journal: MemoryJournal) -> None:
        self._performer = performer
        self._journal = journal
        self.lines: list[int] = []

    def perform(self, effect: SendRequest | RunTool) -> Event:
        self.lines.append(len(self._journal.lines))
        return self._performer.perform(effect)


def test_every_event_is_in_the_journal_before_the_run_goes_on() -> None:
    journal = MemoryJournal(PLAN)
    watched = Watched(Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal)
    run(PLAN, watched, journal=journal)
    assert watched.lines == [1, 2, 3]
    assert len(journal.lines) == 4


def test_an_event_is_in_the_journal_even_if_the_run_cannot_take_it() -> None:
    class Confused:
        def perform(self, effect: SendRequest | RunTool) -> Event:
            return ReplyReceived(effect.ref + 6, 200, "{}")

    journal = MemoryJournal(PLAN)
    with pytest.raises(ProtocolError, match="ReplyReceived answers ref 7, but AwaitingReply waits for ref 1"):
        run(PLAN, Confused(), journal=journal)
    assert parse_journal(journal.text).events == (ReplyReceived(7, 200, "{}"),)


def test_what_a_performer_raises_comes_through_with_the_journal_whole() -> None:
    class Unplugged:
        def run(self, effect: RunTool) -> ToolReturned:
            raise OSError(f"no power for {effect.name}")

    journal = MemoryJournal(PLAN)
    with pytest.raises(OSError, match="no power for add"):
        run(PLAN, Ports(ScriptedEndpoint(SUM), Unplugged()), journal=journal)
    assert [record.kind for record in parse_journal(journal.text).records] == ["send_request"]


def test_an_observer_sees_every_note_as_it_comes() -> None:
    seen: list[tuple[int, Note]] = []
    endpoint = ScriptedEndpoint(SUM)
    ended = run(
        PLAN,
        Ports(endpoint, PythonTools([add])),
        observe=lambda note: seen.append((len(endpoint.asked), note)),
    )
    assert tuple(note for _, note in seen) == ended.notes
    assert seen[0][0] == 0, "the first request is announced before it is sent"
    assert [asked for asked, _ in seen] == [0, 1, 1, 1, 1, 2, 2]


def test_an_observer_that_fails_does_not_disturb_the_run() -> None:
    def faint(note: Note) -> None:
        raise ValueError(type(note).__name__)

    undisturbed, disturbed = MemoryJournal(PLAN), MemoryJournal(PLAN)
    quiet = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=undisturbed)
    with pytest.warns(RuntimeWarning, match="^the observer failed on") as told:
        loud = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=disturbed, observe=faint)
    assert [str(warning.message) for warning in told] == [
        f"the observer failed on {name}: ValueError({name!r})"
        for name in (type(note).__name__ for note in quiet.notes)
    ]
    assert loud == quiet
    assert disturbed.text == undisturbed.text
