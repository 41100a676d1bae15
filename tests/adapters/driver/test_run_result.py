from __future__ import annotations

import pytest

from tests.adapters.driver.test_sync import PLAN, SUM, add
from toolreel._driver.performer import Ports
from toolreel._driver.run_result import Resting, retold
from toolreel._driver.sync import run
from toolreel._journal.format import MemoryJournal, parse_journal
from toolreel.testing._scripted import ScriptedEndpoint
from toolreel.tools._python.host import PythonTools
from toolreel_core._protocol.effects import RunTool, SendRequest
from toolreel_core._protocol.events import CancelRequested
from toolreel_core._protocol.outcome import Cancelled, Completed


def test_a_run_says_how_it_ended() -> None:
    ended = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])))
    assert ended.outcome == Completed("It is 42.")
    assert ended.completed


def test_a_cancelled_run_is_not_completed() -> None:
    ended = retold(PLAN, [CancelRequested("enough")])
    assert ended.outcome == Cancelled("enough")
    assert not ended.completed


def test_a_run_is_retold_from_its_events_with_every_note() -> None:
    journal = MemoryJournal(PLAN)
    ended = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    assert retold(PLAN, parse_journal(journal.text).events) == ended


@pytest.mark.parametrize(("events", "waited_for"), [(0, SendRequest), (1, RunTool), (2, SendRequest)])
def test_a_run_that_is_not_over_rests_at_what_nobody_has_answered(events: int, waited_for: type) -> None:
    journal = MemoryJournal(PLAN)
    run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    unfinished = retold(PLAN, parse_journal(journal.text).events[:events])
    assert isinstance(unfinished.outcome, Resting)
    assert unfinished.outcome.name == "resting"
    assert [type(effect) for effect in unfinished.outcome.waits_for] == [waited_for]
    assert not unfinished.completed
