from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.adapters.test_drive import PLAN, SUM, add
from toolreel.config import LoopConfig
from toolreel.effects import SendRequest
from toolreel.events import CancelRequested, Event
from toolreel.loop import start
from toolreel.outcome import BudgetSpent
from toolreel.plan import Plan
from toolreel_adapters.adrive import arun
from toolreel_adapters.drive import go_on, run
from toolreel_adapters.immediate import ImmediatePerformer
from toolreel_adapters.journal import MemoryJournal, parse_journal
from toolreel_adapters.perform import Ports
from toolreel_adapters.ports import Performer, Wanted
from toolreel_adapters.python_tools import PythonTools
from toolreel_adapters.rehearsal import Rehearsal
from toolreel_adapters.scripted import ScriptedEndpoint
from toolreel_adapters.stopwatch import AsyncStopwatch, Stopwatch

HURRIED = Plan.of(model="m", messages="Go.", tools=PLAN.tools, config=LoopConfig(max_wall_ms=50))


def test_a_run_that_takes_too_long_ends_and_its_record_ends_alike() -> None:
    journal, again = MemoryJournal(HURRIED), MemoryJournal(HURRIED)
    slow = Ports(ScriptedEndpoint(SUM), PythonTools([add]))
    ended = run(HURRIED, Stopwatch(slow, started=-1e6), journal=journal)
    assert isinstance(ended.outcome, BudgetSpent)
    assert ended.outcome.kind == "time"

    recorded = parse_journal(journal.text)
    tools = Rehearsal(recorded, endpoint=ScriptedEndpoint(SUM), tools=PythonTools([add]))
    assert run(HURRIED, tools, journal=again).outcome == ended.outcome
    assert again.text == journal.text


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


@pytest.mark.anyio
async def test_nor_does_it_for_an_async_driver() -> None:
    slow = ImmediatePerformer(Dawdling(Ports(ScriptedEndpoint(SUM), PythonTools([add]))))
    assert isinstance((await arun(HURRIED, slow)).outcome, BudgetSpent)


def test_a_run_that_goes_on_has_its_time_so_far_behind_it() -> None:
    begun = start(HURRIED).state
    late = replace(begun, tally=replace(begun.tally, at_ms=49))
    ended = go_on(late, Dawdling(Ports(ScriptedEndpoint(SUM), PythonTools([add]))))
    assert ended.state.tally.at_ms >= 49 + 60


class Cancelling:
    """Wants no more of it."""

    def perform(self, effect: Wanted) -> CancelRequested:
        return CancelRequested(f"instead of {type(effect).__name__}")


@pytest.mark.anyio
async def test_what_carries_no_time_is_handed_on() -> None:
    (effect,) = start(PLAN).effects
    assert isinstance(effect, SendRequest)
    expected = CancelRequested("instead of SendRequest")
    assert Stopwatch(Cancelling()).perform(effect) == expected
    assert await AsyncStopwatch(ImmediatePerformer(Cancelling())).perform(effect) == expected
