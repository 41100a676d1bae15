"""A recorded run gone on with: its journal as far as it goes, then the live side."""

from __future__ import annotations

import pytest

from tests.adapters.driver.test_sync import PLAN, SUM, Stopping, add
from tests.samples import complaint
from toolreel._driver.aio import arun
from toolreel._driver.performer import AsyncPorts, ImmediateEndpoint, Ports
from toolreel._driver.sync import run
from toolreel._journal.record import MemoryJournal, Recorded, parse_journal
from toolreel._replay.extend import AsyncExtending, Extending, uncancelled
from toolreel._replay.replayer import AsyncRehearsal, Rehearsal
from toolreel.testing._scripted import ScriptedEndpoint
from toolreel.tools._python.host import AsyncPythonTools, PythonTools
from toolreel_core._errors import ReplayMismatch
from toolreel_core._plan.plan import Plan


def whole() -> str:
    journal = MemoryJournal(PLAN)
    run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    return journal.text


def stopped(at: int) -> Recorded:
    """A run that somebody stopped at one of its effects."""
    journal = MemoryJournal(PLAN)
    run(PLAN, Stopping(Ports(ScriptedEndpoint(SUM), PythonTools([add])), at=at), journal=journal)
    return parse_journal(journal.text, "j")


@pytest.mark.parametrize(("at", "asked"), [(1, 0), (2, 1), (3, 1)])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(at: int, asked: int) -> None:
    rehearsal, journal = Rehearsal(uncancelled(stopped(at))), MemoryJournal(PLAN)
    live = Ports(ScriptedEndpoint([*SUM][asked:]), PythonTools([add]))
    run(PLAN, Extending(rehearsal, live), journal=journal)
    rehearsal.finish()
    assert journal.text == whole()


@pytest.mark.anyio
async def test_a_run_that_was_stopped_goes_on_awaited() -> None:
    rehearsal, journal = AsyncRehearsal(uncancelled(stopped(2))), MemoryJournal(PLAN)
    live = AsyncPorts(ImmediateEndpoint(ScriptedEndpoint([*SUM][1:])), AsyncPythonTools([add]))
    await arun(PLAN, AsyncExtending(rehearsal, live), journal=journal)
    rehearsal.finish()
    assert journal.text == whole()


def test_another_run_is_not_gone_on_with() -> None:
    other = Plan.of(model="other", messages="hi", tools=PLAN.tools)
    live = Ports(ScriptedEndpoint([]), PythonTools([add]))
    extending = Extending(Rehearsal(uncancelled(stopped(2))), live)
    assert "the run wants a request" in complaint(ReplayMismatch, lambda: run(other, extending))
