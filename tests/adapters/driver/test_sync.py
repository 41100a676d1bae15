from __future__ import annotations

import time
from dataclasses import replace
from threading import Barrier

import pytest

from tests.patience import HANG
from toolreel._driver import (
    AsyncPorts,
    AsyncSystemClock,
    ImmediateEndpoint,
    InstantClock,
    Never,
    Performer,
    Ports,
    SystemClock,
    Wanted,
    arun,
    go_on,
    run,
)
from toolreel._journal import MemoryJournal, parse_journal
from toolreel._replay import Rehearsal
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying
from toolreel.tools import AsyncPythonTools, PythonTools, Tool, signature_of
from toolreel_core._errors import ProtocolError, ReplayMismatch
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    BudgetSpent,
    CallEnded,
    CallStarted,
    CancelRequested,
    Completed,
    Event,
    Note,
    ReplyRead,
    ReplyReceived,
    RequestLost,
    RequestSent,
    RunSettled,
    RunTool,
    ToolReturned,
    TransportFailed,
    Wait,
    WaitElapsed,
)
from toolreel_core._settings import LoopConfig


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


def test_a_far_side_that_fails_ends_the_run_and_raises_nothing() -> None:
    clock = InstantClock()
    endpoint = ScriptedEndpoint([Lost("timeout", "ReadTimeout")] * 3)
    ended = run(PLAN, Ports(endpoint, PythonTools([add]), clock=clock))
    assert ended.outcome == TransportFailed("timeout", None, "ReadTimeout")
    assert ended.notes.count(RequestLost(1, "timeout", None)) == 3
    assert len(clock.waited) == 2


def test_a_back_off_of_ten_minutes_takes_no_time_in_a_test() -> None:
    clock = InstantClock()
    patient = LoopConfig(retry_base_ms=600_000, retry_cap_ms=600_000)
    plan = Plan.of(model="m", messages="What is 2 + 40?", tools=PLAN.tools, config=patient)
    endpoint = ScriptedEndpoint([Lost("status", "HTTP 503: busy", 503), *SUM])
    assert run(plan, Ports(endpoint, PythonTools([add]), clock=clock)).completed
    assert 300_000 <= clock.waited[0] <= 600_000


GUARDED = replace(PLAN.tools.definitions[0], needs_approval=True)
APPROVED = Plan.of(model="m", messages="What is 2 + 40?", tools=[GUARDED])


def test_a_tool_that_is_not_approved_does_not_run() -> None:
    ran: list[int] = []

    def add(a: int, b: int) -> int:
        ran.append(a + b)
        return a + b

    ended = run(APPROVED, Ports(ScriptedEndpoint(SUM), PythonTools([add]), Never("not today")))
    assert ended.completed
    assert ran == []
    assert "not approved: not today" in ended.state.messages.texts[-2]


def test_tools_that_only_read_run_at_the_same_time_and_answer_in_call_order() -> None:
    together = Barrier(2, timeout=HANG)

    def look(shelf: int) -> int:
        """Look at a shelf."""
        together.wait()
        return shelf

    reading = replace(signature_of(look).definition, read_only=True)
    parallel = LoopConfig(parallel_tools=True)
    plan = Plan.of(model="m", messages="Look.", tools=[reading], config=parallel)
    endpoint = ScriptedEndpoint([calling(("look", {"shelf": 1}), ("look", {"shelf": 2})), saying("1, 2")])
    ended = run(plan, Ports(endpoint, PythonTools([Tool(reading, look)])))
    texts = [ended.state.messages.texts[index].replace("\\", "") for index in (2, 3)]
    assert ['"value":1' in text for text in texts] == [True, False]
    assert ended.completed


def test_a_recording_that_disagrees_is_raised() -> None:
    with pytest.raises(ReplayMismatch, match="request 2 was sent"):
        run(PLAN, Ports(ScriptedEndpoint(SUM[:1]), PythonTools([add])))


class Stopping:
    """Performs effects until somebody has had enough, at one of them."""

    def __init__(self, performer: Performer, *, at: int) -> None:
        self._performer = performer
        self._left = at

    def perform(self, effect: Wanted) -> Event | None:
        self._left -= 1
        return self._performer.perform(effect) if self._left else CancelRequested("enough")


class Watched:
    """Performs effects and notes how many lines the journal has by then."""

    def __init__(self, performer: Performer, journal: MemoryJournal) -> None:
        self._performer = performer
        self._journal = journal
        self.lines: list[int] = []

    def perform(self, effect: Wanted) -> Event | None:
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
        def perform(self, effect: Wanted) -> Event | None:
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


@pytest.mark.anyio
async def test_every_driver_makes_the_same_run_and_the_same_journal() -> None:
    here, there = MemoryJournal(PLAN), MemoryJournal(PLAN)
    ended = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=here)
    ports = AsyncPorts(ImmediateEndpoint(ScriptedEndpoint(SUM)), AsyncPythonTools([add]))
    assert await arun(PLAN, ports, journal=there) == ended
    assert there.text == here.text


HURRIED = Plan.of(model="m", messages="Go.", tools=PLAN.tools, config=LoopConfig(max_wall_ms=50))


class Dawdling:
    """Takes longer than the plan allows."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer

    def perform(self, effect: Wanted) -> Event | None:
        time.sleep(0.06)
        return self._performer.perform(effect)


def test_a_limit_of_time_needs_nothing_but_the_plan() -> None:
    ended = run(HURRIED, Dawdling(Ports(ScriptedEndpoint(SUM), PythonTools([add]))))
    assert isinstance(ended.outcome, BudgetSpent)
    assert ended.outcome.kind == "time"


def test_a_run_that_goes_on_has_its_time_so_far_behind_it() -> None:
    begun = start(HURRIED).state
    late = replace(begun, tally=replace(begun.tally, at_ms=49))
    ended = go_on(late, Dawdling(Ports(ScriptedEndpoint(SUM), PythonTools([add]))))
    assert ended.state.tally.at_ms >= 49 + 60


def test_a_run_that_takes_too_long_ends_and_its_record_ends_alike() -> None:
    journal, again = MemoryJournal(HURRIED), MemoryJournal(HURRIED)
    slow = Dawdling(Ports(ScriptedEndpoint(SUM), PythonTools([add])))
    ended = run(HURRIED, slow, journal=journal)
    assert isinstance(ended.outcome, BudgetSpent)
    assert ended.outcome.kind == "time"

    recorded = parse_journal(journal.text)
    tools = Rehearsal(recorded, endpoint=ScriptedEndpoint(SUM), tools=PythonTools([add]))
    assert run(HURRIED, tools, journal=again).outcome == ended.outcome
    assert again.text == journal.text


def test_the_system_clock_lets_the_time_pass() -> None:
    before = time.monotonic()
    assert SystemClock().wait(Wait(3, 20)) == WaitElapsed(3)
    assert time.monotonic() - before >= 0.02


@pytest.mark.anyio
async def test_the_async_system_clock_lets_it_pass_too() -> None:
    before = time.monotonic()
    assert await AsyncSystemClock().wait(Wait(3, 20)) == WaitElapsed(3)
    assert time.monotonic() - before >= 0.02


IMPATIENT = Plan.of(
    model="m",
    messages="Hi!",
    config=LoopConfig(max_wall_ms=50, retry_base_ms=36 * 10**5, retry_cap_ms=36 * 10**5),
)
"""A run of 50 ms, which would wait for an hour before it tries again."""


def busy() -> ScriptedEndpoint:
    return ScriptedEndpoint([Lost("status", "later", 429)])


def assert_out_of_time(outcome: object) -> None:
    assert isinstance(outcome, BudgetSpent)
    assert (outcome.kind, outcome.used >= 50) == ("time", True)


def test_a_wait_is_over_when_the_time_of_the_run_is() -> None:
    assert_out_of_time(run(IMPATIENT, Ports(busy())).outcome)


@pytest.mark.anyio
async def test_an_async_wait_is_over_then_too() -> None:
    ports = AsyncPorts(ImmediateEndpoint(busy()))
    assert_out_of_time((await arun(IMPATIENT, ports)).outcome)
