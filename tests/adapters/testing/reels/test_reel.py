from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from tests.adapters.driver.immediate import ImmediateApprover
from tests.samples import complaint
from tests.servers.chat_server import nobody_listens, replying, serving
from toolreel._driver import Always, Run
from toolreel._journal import MemoryJournal, journal_path
from toolreel.cassette import Vary
from toolreel.testing import LiveSide, Reel, assert_reel, calling, saying
from toolreel.tools import PythonTools, Tool
from toolreel_core._errors import ConfigError, ReplayMismatch
from toolreel_core._plan import Plan
from toolreel_core._settings import LoopConfig


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return {"pin": 4}[part]


GUARDED = Tool.of(stock, needs_approval=True)
SESSION = (replying(calling(("stock", {"part": "pin"}))), replying(saying("There are 4.")))

ONCE = LoopConfig(max_tries=1)
LAST = LoopConfig(max_turns=1)

each_colour = pytest.mark.parametrize("runs", ["sync", "asyncio", "trio"])


def asking(tool: Tool | Callable[..., object] = stock) -> Plan:
    return Plan.of(model="m", messages="How many pins are in stock?", tools=PythonTools([tool]).surface)


def held(reel: Reel, runs: str, plan: Plan, tools: list[Tool | Callable[..., object]] | None) -> Run:
    """A run on a driver, where everybody approves of everything."""
    if runs == "sync":
        return reel.run(plan, tools, approver=Always())
    task = partial(reel.arun, plan, tools, approver=ImmediateApprover(Always()))
    done: Run = anyio.run(task, backend=runs)
    return done


def recorded(reel_path: Path, runs: str, tool: Tool | Callable[..., object] = stock) -> Run:
    with serving(*SESSION) as server:
        reel = Reel(reel_path, LiveSide(server.url), recording=True)
        done = held(reel, runs, asking(tool), [tool])
        reel.finish()
        reel.close()
        assert reel.save() == (reel_path, journal_path(reel_path))
    return done


@each_colour
def test_a_run_replays_with_its_approvals_and_its_tools(reel_path: Path, runs: str) -> None:
    done = recorded(reel_path, runs, GUARDED)
    assert_reel(done).noted("approval_asked").calls("stock").completed("There are 4.")
    given: list[Tool | Callable[..., object]] = [GUARDED]
    for tools in (given, None):  # without tools, the journal answers for them
        reel = Reel(reel_path)
        assert held(reel, runs, asking(GUARDED), tools) == done
        reel.finish()
    if runs != "sync":  # a host that blocks does for an async run, too
        host = PythonTools([GUARDED])
        task = partial(Reel(reel_path).arun, asking(GUARDED), host, approver=ImmediateApprover(Always()))
        assert anyio.run(task, backend=runs) == done
    journal_path(reel_path).unlink()  # as a recording of another client has none
    reel = Reel(reel_path)
    assert held(reel, runs, asking(GUARDED), [GUARDED]) == done
    reel.finish()


@each_colour
def test_a_run_that_never_got_a_reply_replays_from_what_broke_it_off(reel_path: Path, runs: str) -> None:
    with nobody_listens() as url:
        reel = Reel(reel_path, LiveSide(url), recording=True)
        done = held(reel, runs, Plan.of(model="m", messages="hi", config=ONCE), None)
        assert reel.save() == (reel_path, journal_path(reel_path))
    assert "kind: ConnectError" in reel_path.read_text()
    reel = Reel(reel_path)
    assert held(reel, runs, Plan.of(model="m", messages="hi", config=ONCE), None) == done
    reel.finish()
    assert_reel(done).ended("transport", failure="connect")


@each_colour
def test_recording_needs_the_tools_of_the_plan(reel_path: Path, runs: str) -> None:
    reel = Reel(reel_path, LiveSide("http://127.0.0.1:9"), recording=True)
    said = complaint(ConfigError, lambda: held(reel, runs, asking(), None))
    assert said == "recording runs the tools of the plan for real (stock): give them to the run"


def timed(now: str, tool: Tool | Callable[..., object] = stock, config: LoopConfig | None = None) -> Plan:
    question = f"Now: {now}. How many pins are in stock?"
    surface = PythonTools([tool]).surface
    return Plan.of(model="m", messages=question, tools=surface, config=config or LoopConfig())


NOW = Vary(pattern=r"Now: [0-9:]+", becomes="Now: <time>")


def test_the_journal_alone_decides_what_is_the_recorded_request(reel_path: Path) -> None:
    with serving(*SESSION) as server:
        reel = Reel(reel_path, LiveSide(server.url), recording=True)
        reel.run(timed("14:03"), [stock])
        reel.close()
        reel.save()
    recorded = journal_path(reel_path).read_text().splitlines()
    # Another plan, under which the fingerprints of the requests are no longer those of the journal.
    header = MemoryJournal(timed("99:99")).lines[0]
    journal_path(reel_path).write_text("\n".join([header, *recorded[1:-1], ""]))
    said = complaint(ReplayMismatch, lambda: Reel(reel_path, shared=[NOW]).run(timed("15:04"), [stock]))
    assert "this send_request is not what the run wants there; the record was edited" in said


def test_a_result_that_no_request_shows_may_not_vary(reel_path: Path) -> None:
    with serving(SESSION[0]) as server:
        reel = Reel(reel_path, LiveSide(server.url), recording=True)
        reel.run(timed("14:03", config=LAST), [stock])
        reel.close()
        reel.save()

    def other(part: str) -> int:
        """How many of a part are in stock."""
        return len(part)

    reel = Reel(reel_path, shared=[Vary(pattern="[0-9]")])
    tools = [Tool.of(other, name="stock")]
    said = complaint(ReplayMismatch, lambda: reel.run(timed("14:03", config=LAST), tools))
    assert "event 2 is not the recorded one; first change: event.output" in said
