from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.driver.test_sync import PLAN, SUM, Stopping, add
from tests.samples import complaint
from tests.servers.chat_server import Answer, replying, serving
from toolreel._cli import LiveSession, LiveTarget
from toolreel._driver import Ports, run
from toolreel._journal import MemoryJournal, Recorded, parse_journal, read_journal
from toolreel._replay import DRIVERS, Driver, Rehearsal, replay
from toolreel.testing import ScriptedEndpoint, ScriptedTools, calling, saying
from toolreel.tools import PythonTools, Tool
from toolreel_core._errors import ReplayMismatch
from toolreel_core._loop import start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import Cancelled, CancelRequested, Completed, Finish
from toolreel_core._settings import LoopConfig


def recorded(*, stopped_at: int = 99) -> Recorded:
    journal = MemoryJournal(PLAN)
    ports = Ports(ScriptedEndpoint(SUM), PythonTools([add]))
    run(PLAN, Stopping(ports, at=stopped_at), journal=journal)
    return parse_journal(journal.text, "j")


def drift(plan: Plan, rehearsal: Rehearsal) -> str:
    return complaint(ReplayMismatch, lambda: run(plan, rehearsal))


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_cancelled_run_is_cancelled_again_at_the_same_place(at: int) -> None:
    tape, journal = recorded(stopped_at=at), MemoryJournal(PLAN)
    endpoint, ran = ScriptedEndpoint(SUM), ScriptedTools({"add": [42]})
    rehearsal = Rehearsal(tape, endpoint=endpoint, tools=ran)
    assert run(tape.plan, rehearsal, journal=journal).outcome == Cancelled("enough")
    rehearsal.finish()
    assert journal.text == tape.text
    assert len(endpoint.asked) + len(ran.ran) == at - 1, "what was cancelled is not performed"


def test_another_tool_result_shows_in_the_next_request() -> None:
    rehearsal = Rehearsal(recorded(), tools=ScriptedTools({"add": [43]}))
    assert drift(PLAN, rehearsal).startswith(
        "j, line 4: the run wants a request with 3 messages, but that is not"
    )


def test_a_tool_is_never_run_for_another_call_than_the_recorded_one() -> None:
    tools = ScriptedTools({"add": [43]})
    endpoint = ScriptedEndpoint([calling(("add", {"a": 2, "b": 41})), saying("It is 43.")])
    rehearsal = Rehearsal(recorded(), endpoint=endpoint, tools=tools)
    assert drift(PLAN, rehearsal) == (
        'j, line 3: the run wants add({"a":2,"b":41}), but that is not the run_tool recorded here; '
        "the plan, a tool or toolreel has changed: record again"
    )
    assert tools.ran == []


def test_what_the_endpoint_says_of_a_difference_comes_first() -> None:
    other = Plan.of(model="m", messages="What is 2 + 41?", tools=PLAN.tools)
    assert drift(other, Rehearsal(recorded(), endpoint=ScriptedEndpoint([]))).startswith("request 1 was sent")


def shortened(lines: int) -> Recorded:
    text = "".join(line + "\n" for line in recorded().text.splitlines()[:lines])
    return parse_journal(text, "j")


def test_a_run_that_goes_on_after_the_journal_is_a_mismatch() -> None:
    remedy = "if it was killed, `toolreel resume` (or resume() in Python) finishes it"
    for kept, wanted in ((1, "a request with 1 messages"), (2, 'add({"a":2,"b":40})')):
        said = drift(PLAN, Rehearsal(shortened(kept)))
        assert said == f"j: the journal ends, but the run wants {wanted}; {remedy}"


def test_a_cancelled_event_needs_no_effect() -> None:
    journal = MemoryJournal(PLAN)
    journal.record(None, CancelRequested("Ctrl-C"))
    again = MemoryJournal(PLAN)
    run(PLAN, Rehearsal(parse_journal(journal.text)), journal=again)
    assert again.text == journal.text


@pytest.mark.parametrize("driver", DRIVERS)
def test_results_that_a_host_took_as_they_came_are_replayed_in_that_order(
    driver: Driver, tmp_path: Path
) -> None:
    tools = PythonTools([Tool.of(add, read_only=True)])
    plan = Plan.of(model="m", messages="Add.", tools=tools.surface, config=LoopConfig(parallel_tools=True))
    two = calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 3}))
    ports, journal, at = (
        Ports(ScriptedEndpoint([two, saying("2 and 5.")]), tools),
        MemoryJournal(plan),
        start(plan),
    )
    while at.state.outcome is None:
        for effect in reversed(at.effects):
            assert not isinstance(effect, Finish)
            event = ports.perform(effect)
            assert event
            at = step(at.state, journal.record(effect, event))
    path = tmp_path / "host.journal.jsonl"
    path.write_text(journal.text, "utf-8")
    assert replay(path, driver=driver).run.outcome == Completed("2 and 5.")


ONCE_MORE = Plan.of(model="m", messages="hi", config=LoopConfig(retry_base_ms=0))


def broken_session(folder: Path) -> tuple[Path, str]:
    """A run whose first request broke off, with its cassette; and the text of its journal."""
    with serving(Answer(raw=b""), replying(saying("hello"))) as server:
        live = LiveSession(LiveTarget(server.url)).run(ONCE_MORE, folder / "kept.yaml")
    assert live.run.completed
    return folder / "kept.yaml", read_journal(folder / "kept.journal.jsonl").text


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_broke_off_breaks_off_again(driver: Driver, tmp_path: Path) -> None:
    path, journal = broken_session(tmp_path)
    assert path.read_text().count("kind: RemoteProtocolError") == 1
    assert replay(path, driver=driver).recorded.text == journal
