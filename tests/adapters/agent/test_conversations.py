"""Second questions and streams of agents, on the sync driver, asyncio and trio."""

# ruff: noqa: ANN401 - settings are whatever an agent takes
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.agent.shop import ASKS, ORDERS, WAYS, Events, Way, agent, order, stock
from tests.servers.chat_server import Answer, ChatServer, replying, serving
from tests.servers.chat_server import streaming as pieces
from toolreel import Agent, AgentRun, Completed, ConfigError, replay
from toolreel.journals import MemoryJournal, Rehearsal, parse_journal
from toolreel.stream_events import RunEnded, TextDelta, ToolResult, ToolStarted
from toolreel.testing import saying, streaming

ON = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def texts(events: Events) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


def run_of(events: Events) -> AgentRun[Any]:
    assert [isinstance(event, RunEnded) for event in events] == [False] * (len(events) - 1) + [True]
    last = events[-1]
    assert isinstance(last, RunEnded)
    return last.run


def chunks(*texts: str) -> Answer:
    """A streamed reply that comes at once."""
    return pieces(streaming(*texts))


@ON
def test_a_reply_goes_on_in_the_same_fold(way: Way) -> None:
    one = agent(ASKS, saying("Three."), saying("Sure."), tools=[stock], instructions="Be brief.")
    journal = MemoryJournal(one.plan("How many?"))
    first = way.run(one, "run", "How many?", journal=journal)
    second = way.run(first, "reply", "Sure?")
    assert (second.text, second.output) == ("Sure.", "Sure.")
    assert second.messages[: len(first.messages)] == first.messages
    assert [each["role"] for each in second.messages_as_dicts()] == [
        "system", "user", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert second.notes[: len(first.notes)] == first.notes
    recorded = parse_journal(journal.text)
    assert Rehearsal(recorded).play(recorded.plan).text == "Sure."


@ON
def test_a_stream_ends_with_the_run_of_the_agent_which_streams_its_replies(way: Way) -> None:
    one = agent(ASKS, streaming("Three ", "pins."), streaming("No ", "shims."), tools=[stock])
    events = way.events(one, "stream", "How many?")
    assert texts(events) == ["Three ", "pins."]
    assert [type(event) for event in events if isinstance(event, (ToolStarted, ToolResult))] == [
        ToolStarted,
        ToolResult,
    ]
    first = run_of(events)
    assert (first.output, first.state.plan.config.stream) == ("Three pins.", "always")
    more = way.events(first, "reply_stream", "And shims?")
    assert texts(more) == ["No ", "shims."]
    assert run_of(more).notes[: len(first.notes)] == first.notes


def test_config_and_presets_say_whether_a_stream_streams() -> None:
    whole = {"stream": "never"}
    assert agent(config=whole).plan("?", streams=True).config.stream == "never"
    assert agent(config={"max_turns": 3}).plan("?", streams=True).config.stream == "always"
    assert agent().plan("?").config.stream == "never"
    from toolreel import Preset

    never = Preset.of("whole", {"config": whole})
    assert agent(preset=never).plan("?", streams=True).config.stream == "never"


@ON
def test_after_decisions_a_streamed_run_goes_on_in_its_recording(way: Way, tmp_path: Path) -> None:
    orders = replying(ORDERS)
    script = [orders, orders, chunks("Not ", "now."), chunks("Good ", "bye.")]
    with serving(*script) as server:
        buyer = Agent("m", base_url=server.url, tools=[order])
        first = run_of(way.events(buyer, "stream", "Order.", record=tmp_path / "order"))
        last = way.run(way.run(first, "approve"), "deny", "not today")
        assert (last.text, last.output) == ("Not now.", "Not now.")
        assert last.notes[: len(first.notes)] == first.notes
        with pytest.raises(ConfigError, match="the run rests at no call that needs approval"):
            way.run(last, "approve")
        over = run_of(way.events(last, "reply_stream", "Bye."))
    assert replay(tmp_path / "order").run.state == over.state
    assert "not today" in str(last.messages_as_dicts()[-2]["content"])


def served(server: ChatServer, **settings: Any) -> Agent[str]:
    return Agent("m", base_url=server.url, tools=[stock], **settings)


@ON
def test_a_conversation_is_one_recording(way: Way, tmp_path: Path) -> None:
    path = tmp_path / "talk"
    answers = [replying(ASKS), chunks("Three ", "pins."), chunks("No ", "shims."), replying(saying("Bye."))]
    with serving(*answers) as server:
        first = run_of(way.events(served(server), "stream", "How many pins?", record=path))
        second = run_of(way.events(first, "reply_stream", "And shims?"))
        third = way.run(second, "reply", "Bye.")
        with pytest.raises(ConfigError, match="has gone on after this run"):
            way.run(first, "reply", "And nuts?")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["talk.journal.jsonl", "talk.yaml"]
    replayed = replay(path)
    assert replayed.cassette is not None
    assert (replayed.run.outcome, replayed.run.state) == (Completed("Bye."), third.state)
    assert len(replay(path, tools=lambda: [stock]).run.messages) == len(third.messages)
