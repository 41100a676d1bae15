"""Long conversations whose old turns the model summarises: on the drivers, recorded, replayed and shown."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.adapters.driver.immediate import ImmediateTools
from toolreel._driver import (
    AsyncPorts,
    ImmediateEndpoint,
    NoteMade,
    Ports,
    Run,
    RunEnded,
    StreamEvent,
    TextDelta,
    arun,
    aspeak,
    astream_on,
    run,
    speak,
    stream_on,
)
from toolreel._journal import MemoryJournal
from toolreel._replay import DRIVERS, replay
from toolreel.testing import ScriptedEndpoint, saying, streaming
from toolreel.tools import PythonTools
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Completed,
    HistorySummarized,
    ReplyReceived,
    RequestFailed,
    SendRequest,
    SummaryRequested,
)
from toolreel_core._replies import Delta
from toolreel_core._settings import LoopConfig

WINDOW = 2_000
CONFIG = LoopConfig(
    context_window_tokens=WINDOW, history_policies=("summarize_old_turns", "keep_newest_turns")
)
PLAN = Plan.of(model="m", messages="Question 0?", config=CONFIG)
SUMMARY = "They asked for numbers."


class Counting:
    """Answers by what it is asked alone, so that asking again changes nothing."""

    def __init__(self) -> None:
        self.asked: list[SendRequest] = []

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        self.asked.append(effect)
        if effect.purpose == "summary":
            return ReplyReceived(effect.ref, 200, canonical(saying(SUMMARY)))
        question = [*effect.request.messages.messages][-1]
        assert isinstance(question, UserMessage)
        return ReplyReceived(effect.ref, 200, canonical(saying(answer(question.content))))


def answer(question: str) -> str:
    return f"{question} " + "It is a long story. " * 20


def on_sync(endpoint: Counting, said: list[str], journal: MemoryJournal | None = None) -> Run:
    ports = Ports(endpoint, PythonTools())
    done = run(PLAN, ports, journal=journal)
    for content in said:
        done = speak(done, content, ports, journal=journal)
    return done


def on_asyncio(endpoint: Counting, said: list[str], journal: MemoryJournal | None = None) -> Run:
    async def talk() -> Run:
        ports = AsyncPorts(ImmediateEndpoint(endpoint), ImmediateTools(PythonTools()))
        done = await arun(PLAN, ports, journal=journal)
        for content in said:
            done = await aspeak(done.state, content, ports, journal=journal)
        return done

    return asyncio.run(talk())


def questions(count: int) -> list[str]:
    return [f"Question {number}?" for number in range(1, count)]


def test_both_drivers_record_the_same_conversation_and_it_replays(tmp_path: Path) -> None:
    path = tmp_path / "talk.journal.jsonl"
    one, other = MemoryJournal(PLAN), MemoryJournal(PLAN)
    on_sync(Counting(), questions(25), one)
    on_asyncio(Counting(), questions(25), other)
    assert one.text == other.text
    path.write_text(one.text)
    for driver in DRIVERS:
        assert replay(path, driver=driver).run.outcome == Completed(answer("Question 24?"))


def shown(events: list[StreamEvent]) -> tuple[str, Run]:
    (ended,) = (event for event in events if isinstance(event, RunEnded))
    notes = [event.note for event in events if isinstance(event, NoteMade)]
    assert [type(note) for note in notes if isinstance(note, SummaryRequested | HistorySummarized)] == [
        SummaryRequested,
        HistorySummarized,
    ]
    return "".join(event.text for event in events if isinstance(event, TextDelta)), ended.run


def full() -> Run:
    """A conversation that the next question makes too long."""
    done = on_sync(Counting(), [])
    for content in questions(60):
        endpoint = Counting()
        after = speak(done, content, Ports(endpoint, PythonTools()))
        if endpoint.asked[0].purpose == "summary":
            return done
        done = after
    raise AssertionError("it never became too long")


@pytest.mark.parametrize("streamed", [True, False])
def test_a_stream_shows_the_answer_and_not_the_summary(streamed: bool) -> None:
    state = full().state
    script = (
        [streaming(SUMMARY), streaming("Se", "ven.")] if streamed else [saying(SUMMARY), saying("Seven.")]
    )
    deltas: list[Delta] = []
    ports = Ports(ScriptedEndpoint(script, on_delta=deltas.append), PythonTools())
    text, ended = shown([*stream_on(state, ports, say="And now?")])
    assert (text, ended.outcome) == ("Seven.", Completed("Seven."))
    assert "".join(delta.text for delta in deltas) == ("Seven." if streamed else "")

    async def listed() -> list[StreamEvent]:
        awaited = AsyncPorts(ImmediateEndpoint(ScriptedEndpoint(script)), ImmediateTools(PythonTools()))
        async with aclosing(astream_on(state, awaited, say="And now?")) as events:
            return [event async for event in events]

    assert shown(asyncio.run(listed()))[0] == "Seven."
