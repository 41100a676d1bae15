"""Long conversations whose old turns the model summarises: on the drivers, recorded, replayed and shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.adapters.driver.immediate import ImmediateTools
from tests.servers.chat_server import Answer, chunk, replying, serving
from tests.servers.chat_server import streaming as pieces
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
    go_on,
    run,
    speak,
    stream_on,
)
from toolreel._journal import FileJournal, MemoryJournal, Recorded, parse_journal
from toolreel._replay import DRIVERS, Changes, fork, replay, resume, retrace, story
from toolreel.cassette import use_cassette
from toolreel.http import HttpEndpoint
from toolreel.testing import ScriptedEndpoint, saying, streaming
from toolreel.tools import PythonTools
from toolreel_core._conversation import AssistantMessage, UserMessage, is_summary
from toolreel_core._jsontext import canonical
from toolreel_core._loop import fold
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Completed,
    HistorySummarized,
    ReplyReceived,
    RequestFailed,
    SendRequest,
    SummaryRequested,
    UserSpoke,
    dump,
    load_state,
)
from toolreel_core._replies import Delta
from toolreel_core._settings import LoopConfig

WINDOW = 2_000
CONFIG = LoopConfig(
    context_window_tokens=WINDOW, history_policies=("summarize_old_turns", "keep_newest_turns")
)
PLAN = Plan.of(model="m", messages="Question 0?", config=CONFIG)
SHORT = 20
"""Exchanges with one summary."""
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


def talk(ports: Ports, said: list[str], journal: FileJournal) -> None:
    """Say one thing after another; what was said is taken from the list."""
    done = run(PLAN, ports, journal=journal)
    while said:
        done = speak(done, said.pop(0), ports, journal=journal)


def questions(count: int) -> list[str]:
    return [f"Question {number}?" for number in range(1, count)]


def recorded(count: int = 25) -> tuple[Recorded, Run]:
    """A conversation of this many exchanges, of which the old ones were summarised more than once."""
    journal = MemoryJournal(PLAN)
    done = on_sync(Counting(), questions(count), journal)
    return parse_journal(journal.text, "talk"), done


@pytest.mark.parametrize("talk", [on_sync, on_asyncio])
def test_sixty_exchanges_fit_a_small_window_and_are_all_stored(talk: Callable[..., Run]) -> None:
    endpoint = Counting()
    done = talk(endpoint, questions(60))
    assert done.outcome == Completed(answer("Question 59?"))
    stored = list(done.state.messages.messages)
    assert [message.content for message in stored if isinstance(message, UserMessage)] == [
        f"Question {number}?" for number in range(60)
    ]
    assert sum(isinstance(message, AssistantMessage) for message in stored) == 60
    summaries = [effect for effect in endpoint.asked if effect.purpose == "summary"]
    assert (len(endpoint.asked), done.state.tally.turns) == (60 + len(summaries), 60)
    assert 5 <= len(summaries) <= 12
    assert all(len(effect.request.body.encode()) // 4 <= WINDOW for effect in endpoint.asked)
    assert all("Earlier summary:" in effect.request.body for effect in summaries[1:])
    outgoing = [*done.state.messages.outgoing]
    assert outgoing[0] == UserMessage("Question 0?")
    assert is_summary(outgoing[1])


def test_both_drivers_record_the_same_conversation_and_it_replays(tmp_path: Path) -> None:
    path = tmp_path / "talk.journal.jsonl"
    one, other = MemoryJournal(PLAN), MemoryJournal(PLAN)
    on_sync(Counting(), questions(25), one)
    on_asyncio(Counting(), questions(25), other)
    assert one.text == other.text
    path.write_text(one.text)
    for driver in DRIVERS:
        assert replay(path, driver=driver).run.outcome == Completed(answer("Question 24?"))


def test_a_run_that_is_killed_anywhere_goes_on_as_if_it_had_not_been() -> None:
    record, done = recorded(20)
    events = list(record.events)
    assert any(is_summary(message) for message in done.state.messages.outgoing)
    said = [event.content for event in events if isinstance(event, UserSpoke)]
    for kept in range(len(events) + 1):
        state = load_state(dump(fold(PLAN, events[:kept]).state))
        before = sum(isinstance(event, UserSpoke) for event in events[:kept])
        ports = Ports(Counting(), PythonTools())
        resumed = go_on(state, ports)
        for content in said[before:]:
            resumed = speak(resumed, content, ports)
        assert resumed.state == done.state


def test_a_journal_that_ends_while_a_summary_is_awaited_is_resumed(tmp_path: Path) -> None:
    class Dying(Counting):
        def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
            if effect.purpose == "summary":
                raise KeyboardInterrupt
            return super().send(effect)

    path = tmp_path / "talk.journal.jsonl"
    ports = Ports(Dying(), PythonTools())
    said = questions(60)
    with FileJournal(path, PLAN) as journal, pytest.raises(KeyboardInterrupt):
        talk(ports, said, journal)
    last = 60 - len(said) - 1
    endpoint = Counting()
    resumed = resume(path, Ports(endpoint, PythonTools()))
    assert resumed.outcome == Completed(answer(f"Question {last}?"))
    assert [effect.purpose for effect in endpoint.asked] == ["summary", "turn"]


def test_a_conversation_is_forked_at_a_summary() -> None:
    record, _ = recorded()
    events = list(record.events)
    at = next(
        number
        for number, one in enumerate(retrace(record).events, 1)
        if isinstance(one.effect, SendRequest) and one.effect.purpose == "summary"
    )
    assert isinstance(events[at - 1], ReplyReceived)
    for kept in (at - 1, at):
        endpoint = Counting()
        forked = fork(record, kept, Changes(), performer=Ports(endpoint, PythonTools()))
        assert forked.outcome is not None
        assert forked.outcome.name == "completed"
        assert [effect.purpose for effect in endpoint.asked] == ["summary", "turn"][kept - at + 1 :]


def test_the_story_of_a_run_tells_of_its_summaries() -> None:
    record, _ = recorded()
    told = [remark for turn in story(retrace(record).run) for remark in turn.remarks]
    asked, taken = told[:2]
    assert asked.startswith("the window was full: a summary of ")
    assert taken.startswith("the summary took ")
    assert taken.endswith(f"tokens (estimated): {SUMMARY}")


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


def talk_over(endpoint: HttpEndpoint, count: int) -> Generator[Run, None, None]:
    ports = Ports(endpoint, PythonTools())
    done = run(PLAN, ports)
    yield done
    for content in questions(count):
        done = speak(done, content, ports)
        yield done


def test_a_summary_comes_from_a_real_server_and_a_cassette(tmp_path: Path) -> None:
    dry = Counting()
    on_sync(dry, questions(SHORT))
    purposes = [effect.purpose for effect in dry.asked]
    assert purposes.count("summary") == 1
    # The server streams the summary unasked: a listener must not take it for the answer.
    script: list[Answer] = []
    number = 0
    for purpose in purposes:
        if purpose == "summary":
            script.append(pieces(chunk(SUMMARY), chunk(finish="stop"), "data: [DONE]\n\n"))
        else:
            script.append(replying(saying(answer(f"Question {number}?"))))
            number += 1
    heard: list[Delta] = []
    with serving(*script) as server, HttpEndpoint(server.url, on_delta=heard.append) as endpoint:
        live = [*talk_over(endpoint, SHORT)][-1]
    assert heard == []
    bodies = [seen.body.decode() for seen in server.seen]
    assert bodies == [effect.request.body for effect in dry.asked]
    summary = json.loads(bodies[purposes.index("summary")])
    assert {*summary} == {"model", "messages"}
    check_cassette(script, live, tmp_path / "talk.yaml")


def check_cassette(script: list[Answer], live: Run, path: Path) -> None:
    with (
        serving(*script) as server,
        use_cassette(path, "record") as session,
        HttpEndpoint(server.url, transport=session.transport()) as endpoint,
    ):
        assert [*talk_over(endpoint, SHORT)][-1].state == live.state
    with use_cassette(path) as session, HttpEndpoint(server.url, transport=session.transport()) as endpoint:
        assert [*talk_over(endpoint, SHORT)][-1].state == live.state
