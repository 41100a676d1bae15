"""Streams of long conversations whose old turns the model summarises."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from tests.adapters.driver.immediate import ImmediateEndpoint, ImmediateTools
from toolreel._driver import (
    AsyncPorts,
    NoteMade,
    Ports,
    Run,
    RunEnded,
    StreamEvent,
    TextDelta,
    astream_on,
    run,
    speak,
    stream_on,
)
from toolreel.testing import ScriptedEndpoint, saying, streaming
from toolreel.tools import PythonTools
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Completed,
    HistorySummarized,
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
    story = saying("It is a long story. " * 20)
    done = run(PLAN, ScriptedEndpoint([story]))
    for number in range(1, 60):
        endpoint = ScriptedEndpoint([story, story])
        after = speak(done, f"Question {number}?", Ports(endpoint))
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
