"""How long things take is measured in every live run, kept next to the events, and told again by a replay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest

from tests.adapters.driver.immediate import ImmediateApprover, ImmediateEndpoint, ImmediateTools
from tests.adapters.driver.test_sync import PLAN, SUM, add
from tests.samples import complaint
from toolreel import (
    AsyncPorts,
    FileJournal,
    LoopConfig,
    Plan,
    Ports,
    PythonTools,
    Run,
    astream,
    replay,
    run,
    speak,
    stream,
)
from toolreel._driver import InstantClock, Progress
from toolreel._internal import JournalError
from toolreel._journal import seal_text
from toolreel._replay import DRIVERS, Driver
from toolreel.journals import MemoryJournal, parse_journal, read_journal
from toolreel.results import EffectTime, Timing
from toolreel.stream_events import RunEnded
from toolreel.testing import Lost, ScriptedEndpoint, saying
from toolreel_core import ReplyReceived, RunTool, SendRequest, ToolReturned
from toolreel_core._jsontext import JsonText
from toolreel_core._loop import start
from toolreel_core._protocol import ApprovalGiven, AskApproval, RequestFailed
from toolreel_core._replies import Delta


class SetClock(InstantClock):
    """Tells the time that it is set to."""

    seconds = 100.0

    def now(self) -> float:
        return self.seconds

    def wait(self, effect: Any) -> Any:  # noqa: ANN401 - of the base
        self.seconds += effect.ms / 1000
        return super().wait(effect)


@dataclass
class Slow:
    """An endpoint, tools and an approver that take this many seconds, by the clock that they set."""

    clock: SetClock
    endpoint: ScriptedEndpoint
    tools: PythonTools
    request: float = 1.0
    tool: float = 0.25
    decision: float = 60.0

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        self.clock.seconds += self.request
        return self.endpoint.send(effect)

    def run(self, effect: RunTool) -> ToolReturned:
        self.clock.seconds += self.tool
        return self.tools.run(effect)

    def decide(self, effect: AskApproval) -> ApprovalGiven:
        self.clock.seconds += self.decision
        return ApprovalGiven(effect.ref, True)


class SlowPieces(Slow):
    """Streams its replies: the first piece comes after 0.4 seconds, and what it uses is 0.1 seconds."""

    def stream(self, effect: SendRequest) -> Generator[Delta | ReplyReceived | RequestFailed]:
        self.clock.seconds += 0.4
        yield Delta("content", "a")
        self.clock.seconds += self.request - 0.4
        yield self.endpoint.send(effect)


def slow(script: Any = SUM, kind: type[Slow] = Slow) -> tuple[Ports, AsyncPorts]:  # noqa: ANN401 - a script
    clock = SetClock()
    made = kind(clock, ScriptedEndpoint(script), PythonTools([add]))
    endpoint, decides = ImmediateEndpoint(made), ImmediateApprover(made)
    return (
        Ports(made, made, made, clock),
        AsyncPorts(endpoint, ImmediateTools(made), decides, clock),
    )


def blocking(plan: Plan, script: Any) -> Run:  # noqa: ANN401
    return run(plan, slow(script)[0])


def streaming_async(plan: Plan, script: Any) -> Run:  # noqa: ANN401
    async def last() -> Run:
        *_, ended = [event async for event in cast("AsyncGenerator[Any]", astream(plan, slow(script)[1]))]
        return cast("Run", ended.run)

    return asyncio.run(last())


On: TypeAlias = Callable[[Plan, Any], Run]
each_driver = pytest.mark.parametrize("on", [blocking, streaming_async])

TOOK = (
    EffectTime("request", "", 1, 1, 1000, 1000),
    EffectTime("tool", "add", 2, 1, 250, 250, call_id="call_1"),
    EffectTime("request", "", 3, 2, 1000, 1000),
)


@each_driver
def test_a_live_run_knows_how_long_everything_took(on: On) -> None:
    ended = on(PLAN, SUM)
    call_id = ended.timing.tools[0].call_id
    assert ended.timing == Timing((TOOK[0], TOOK[1]._replace(call_id=call_id), TOOK[2]))
    timing = ended.timing
    assert (timing.total_ms, timing.model_ms, timing.tools_ms, timing.waiting_ms) == (2250, 2000, 250, 0)
    assert str(timing) == "2.2 s (model 2.0 s, tools 250 ms)"


@each_driver
def test_waits_and_approvals_are_waiting(on: On) -> None:
    careful = PLAN.tools.definitions[0]
    tools = replace(PLAN.tools, definitions=(replace(careful, needs_approval=True),))
    plan = Plan.of(model="m", messages="Add.", tools=tools)
    timing = on(plan, [Lost("timeout", "ReadTimeout"), *SUM]).timing
    kinds = ["request", "wait", "request", "approval", "tool", "request"]
    assert [took.kind for took in timing.took] == kinds
    waited = timing.took[1].ms
    assert waited
    assert timing.waiting_ms == waited + 60_000
    assert timing.total_ms == 3 * 1000 + waited + 60_000 + 250
    assert [took.turn for took in timing.took] == [1, 1, 1, 1, 1, 2]


def test_a_streamed_reply_tells_when_it_began() -> None:
    plan = Plan.of(model="m", messages="Hi.", config=LoopConfig(stream="always"))
    *_, ended = stream(plan, slow([saying("a")], SlowPieces)[0])
    assert isinstance(ended, RunEnded)
    assert [(took.first_ms, took.ms) for took in ended.run.timing.took] == [(400, 1000)]
    assert [took.first_ms for took in run(plan, slow([saying("a")], SlowPieces)[0]).timing.took] == [None]


def test_tools_that_ran_together_count_once_in_the_whole() -> None:
    clock = SetClock()
    first, second = (RunTool(ref, f"c{ref}", "add", JsonText("{}"), "k") for ref in (2, 3))
    with Progress(start(PLAN), Ports(ScriptedEndpoint([]), clock=clock)) as progress:
        for effect in (first, second):
            progress.begin_effect(effect)
        for effect, seconds in ((second, 2), (first, 1)):
            clock.seconds += seconds
            progress.end_effect(effect, None)
        for effect in (first, second):
            progress.pop_effect_times(effect, ToolReturned(effect.ref, "1"))
    timing = progress.run.timing
    assert [took.ms for took in timing.took] == [3000, 2000]
    assert (timing.total_ms, timing.tools_ms) == (3000, 5000)


def test_times_are_no_part_of_a_run(tmp_path: Path) -> None:
    quick, memory = MemoryJournal(PLAN), MemoryJournal(PLAN)
    plain = run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=quick)
    path = tmp_path / "sum.journal.jsonl"
    with FileJournal(path, PLAN) as journal:
        timed = run(PLAN, slow()[0], journal=journal)
    run(PLAN, slow()[0], journal=memory)
    recorded = read_journal(path)
    assert timed == plain
    assert recorded.text == memory.text == quick.text
    assert recorded.digest == parse_journal(quick.text).digest
    assert recorded.records == parse_journal(quick.text).records
    assert '"took"' not in recorded.text
    assert '"took":{"ms":1000,"passed_ms":1000}' in path.read_text()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_replay_tells_what_the_live_run_took(driver: Driver, tmp_path: Path) -> None:
    path = tmp_path / "sum.journal.jsonl"
    with FileJournal(path, PLAN) as journal:
        live = run(PLAN, slow()[0], journal=journal)
    assert replay(path, driver=driver).run.timing == live.timing
    assert replay(path, driver=driver, tools=lambda: [add]).run.timing == live.timing


def run_text() -> str:
    journal = MemoryJournal(PLAN)
    run(PLAN, Ports(ScriptedEndpoint(SUM), PythonTools([add])), journal=journal)
    return journal.text


def test_between_two_exchanges_no_time_passes(tmp_path: Path) -> None:
    ports, path = slow([saying("a"), saying("b")])[0], tmp_path / "talk.journal.jsonl"
    plan = Plan.of(model="m", messages="Hi.")
    with FileJournal(path, plan) as journal:
        first = run(plan, ports, journal=journal)
        cast("SetClock", ports.clock).seconds += 3600
        second = speak(first, "And now?", ports, journal=journal)
    assert (first.timing.total_ms, second.timing.total_ms) == (1000, 1000)
    assert replay(path).run.timing == first.timing + second.timing


def test_a_record_without_times_says_that_they_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "old.journal.jsonl"
    path.write_bytes(seal_text(run_text()))
    timing = replay(path).run.timing
    assert [took.ms for took in timing.took] == [None] * 3
    assert (timing.total_ms, timing.model_ms, timing.tools_ms) == (None, None, None)
    assert str(timing) == ""
    assert Timing().total_ms is None


@pytest.mark.parametrize("took", ["{}", "7", '{"ms":1}', '{"ms":1,"passed_ms":1,"x":1}'])
def test_times_that_are_none_are_refused(took: str) -> None:
    header, line, *_ = run_text().splitlines()
    text = f'{header}\n{line[:-1]},"took":{took}}}\n'
    assert "line 2: took has to say" in complaint(JournalError, lambda: parse_journal(text))


def test_what_was_under_way_when_a_stream_was_closed_is_told(tmp_path: Path) -> None:
    path, ports = tmp_path / "cut.journal.jsonl", slow([saying("a")], SlowPieces)[0]
    plan = Plan.of(model="m", messages="Hi.", config=LoopConfig(stream="always"))
    with FileJournal(path, plan) as journal:
        events = stream(plan, ports, journal=journal)
        next(event for event in events if type(event).__name__ == "TextDelta")
        events.close()
    (took,) = replay(path).run.timing.took
    assert (took.kind, took.ms) == ("cancelled", 400)


def test_the_text_is_the_same_however_the_times_are_written() -> None:
    text = run_text()
    header, line, *rest = text.splitlines(keepends=True)
    took = '"took":{"ms":1,"passed_ms":1}'
    for timed in (f"{line[:-2]},{took}}}\n", f"{{{took},{line[1:]}", f"{line[:-2]}, {took} }}\n"):
        recorded = parse_journal("".join([header, timed, *rest]))
        assert recorded.text == text
        assert recorded.records[0].lap is not None
