from __future__ import annotations

import time
from dataclasses import replace
from threading import Barrier

import anyio
import pytest

from tests.adapters.driver.immediate import ImmediateEndpoint
from tests.patience import HANG
from toolreel._driver import (
    AsyncPorts,
    Performer,
    Ports,
    Wanted,
    arun,
    go_on,
    limit_time_until,
    run,
    time_left,
)
from toolreel._journal import MemoryJournal, parse_journal
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying
from toolreel.tools import PythonTools, Tool, signature_of
from toolreel_core._errors import ProtocolError
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    BudgetSpent,
    CancelRequested,
    Event,
    Note,
    ReplyReceived,
    RunTool,
    ToolReturned,
)
from toolreel_core._settings import LoopConfig


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


PLAN = Plan.of(model="m", messages="What is 2 + 40?", tools=PythonTools([add]).surface)
SUM = [calling(("add", {"a": 2, "b": 40})), saying("It is 42.")]


def test_tools_that_only_read_run_at_the_same_time_and_answer_in_call_order() -> None:
    together = Barrier(2, timeout=HANG)
    left: list[float] = []

    def look(shelf: int) -> int:
        """Look at a shelf."""
        together.wait()
        left.append(time_left())
        return shelf

    reading = replace(signature_of(look).definition, read_only=True)
    parallel = LoopConfig(parallel_tools=True)
    plan = Plan.of(model="m", messages="Look.", tools=[reading], config=parallel)
    endpoint = ScriptedEndpoint([calling(("look", {"shelf": 1}), ("look", {"shelf": 2})), saying("1, 2")])
    with limit_time_until(time.monotonic() + 900):  # as in a tool of another run
        ended = run(plan, Ports(endpoint, PythonTools([Tool(reading, look)])))
    assert len(left) == 2
    assert max(left) < 900
    texts = [ended.state.messages.texts[index].replace("\\", "") for index in (2, 3)]
    assert ['"value":1' in text for text in texts] == [True, False]
    assert ended.completed


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
    ports = AsyncPorts(ImmediateEndpoint(busy()))
    assert_out_of_time(anyio.run(arun, IMPATIENT, ports).outcome)
