from __future__ import annotations

import pytest

from tests.adapters.driver.test_sync import PLAN, SUM, add
from tests.samples import complaint
from toolreel._driver.performer import Ports
from toolreel._driver.run_result import retold
from toolreel._driver.sync import run
from toolreel._journal.format import MemoryJournal, parse_journal
from toolreel.testing._scripted import ScriptedEndpoint
from toolreel.tools._python.host import PythonTools
from toolreel_core._errors import ProtocolError
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


@pytest.mark.parametrize(
    ("events", "phase"), [(0, "AwaitingReply"), (1, "AwaitingTools"), (2, "AwaitingReply")]
)
def test_a_run_that_is_not_over_has_no_outcome(events: int, phase: str) -> None:
    journal = MemoryJournal(PLAN)
    run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    unfinished = retold(PLAN, parse_journal(journal.text).events[:events])
    message = f"the run has not ended, it is in phase {phase}"
    assert complaint(ProtocolError, lambda: unfinished.outcome) == message
    assert complaint(ProtocolError, lambda: unfinished.completed) == message
