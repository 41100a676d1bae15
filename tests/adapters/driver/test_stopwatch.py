from __future__ import annotations

import time
from dataclasses import replace

from tests.adapters.driver.test_sync import PLAN, SUM, add
from toolreel._driver import Performer, Ports, Stopwatch, Wanted, go_on, run
from toolreel._journal import MemoryJournal, parse_journal
from toolreel._replay import Rehearsal
from toolreel.testing import ScriptedEndpoint
from toolreel.tools import PythonTools
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import BudgetSpent, Event
from toolreel_core._settings import LoopConfig

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
    slow = Ports(ScriptedEndpoint(SUM), PythonTools([add]))
    ended = run(HURRIED, Stopwatch(slow, started=-1e6), journal=journal)
    assert isinstance(ended.outcome, BudgetSpent)
    assert ended.outcome.kind == "time"

    recorded = parse_journal(journal.text)
    tools = Rehearsal(recorded, endpoint=ScriptedEndpoint(SUM), tools=PythonTools([add]))
    assert run(HURRIED, tools, journal=again).outcome == ended.outcome
    assert again.text == journal.text
