"""Conversations on the drivers: speaking after the end and while a run is underway."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.samples import complaint
from toolreel._driver import (
    Always,
    Approver,
    Inbox,
    InstantClock,
    Lap,
    Later,
    Ports,
    Resting,
    Run,
    Wanted,
    go_on,
    run,
    speak,
)
from toolreel._journal import (
    FileJournal,
    MemoryJournal,
    Recorded,
    ReopenedJournal,
    parse_journal,
    part_path,
    read_journal,
)
from toolreel._replay import DRIVERS, AsyncRehearsal, Rehearsal, replay, resume, retrace
from toolreel.testing import Line, Lost, ScriptedEndpoint, calling, saying
from toolreel.tools import PythonTools, Tool
from toolreel_core._conversation import UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._loop import fold
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Completed,
    Event,
    MaxTurns,
    ReplyReceived,
    RequestFailed,
    SendRequest,
    dump,
    load_state,
)
from toolreel_core._settings import LoopConfig


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


PLAN = Plan.of(model="m", messages="What is 2 + 40?", tools=PythonTools([add]).surface)
GUARDED = Plan.of(
    model="m", messages="What is 2 + 40?", tools=PythonTools([Tool.of(add, needs_approval=True)]).surface
)
SUM = calling(("add", {"a": 2, "b": 40}))
MORE = calling(("add", {"a": 42, "b": 1}))
THREE = (SUM, saying("42."), MORE, saying("43."), saying("You are welcome."))
"""A question with a call, another one, and a thank you."""


def ports(script: Iterable[Line], approver: Approver | None = None) -> Ports:
    return Ports(ScriptedEndpoint(script), PythonTools([add]), approver or Later(), InstantClock())


def conversation(
    script: Iterable[Line] = THREE, said: Iterable[str] = ("And plus 1?", "Thanks!")
) -> Recorded:
    journal, given = MemoryJournal(PLAN), ports(script)
    done = run(PLAN, given, journal=journal)
    for content in said:
        done = speak(done, content, given, journal=journal)
    return parse_journal(journal.text, "talk")


def steered() -> tuple[Recorded, Run]:
    """A run whose user speaks while its tool runs, and again while the answer is made."""
    inbox, journal = Inbox(), MemoryJournal(PLAN)

    class Speaking(ScriptedEndpoint):
        def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
            if effect.ref == 3:
                inbox.say("And in words?")
            return super().send(effect)

    def add(a: int, b: int) -> int:
        inbox.say("Write a sentence.")
        return a + b

    endpoint = Speaking([SUM, saying("It is 42, as you said."), saying("Forty-two.")])
    done = run(PLAN, Ports(endpoint, PythonTools([add])), journal=journal, inbox=inbox)
    assert inbox.waiting == ()
    return parse_journal(journal.text, "steered"), done


def test_what_is_said_meanwhile_is_in_the_journal_where_the_run_took_it() -> None:
    recorded, done = steered()
    kinds = [record.kind for record in recorded.records]
    assert " ".join(kinds) == "send_request user_spoke run_tool user_spoke send_request send_request"
    said = [message.content for message in done.state.messages.messages if isinstance(message, UserMessage)]
    assert said == ["What is 2 + 40?", "Write a sentence.", "And in words?"]
    assert done.outcome == Completed("Forty-two.")


def test_what_is_said_after_the_answer_begins_the_next_exchange() -> None:
    inbox = Inbox()
    seen: list[str] = []

    def observe(note: object) -> None:
        seen.append(type(note).__name__)
        if seen.count("RunSettled") == 1 and seen[-1] == "RunSettled":
            inbox.say("Thanks!")

    done = run(PLAN, ports([SUM, saying("42."), saying("Welcome.")]), observe=observe, inbox=inbox)
    assert done.outcome == Completed("Welcome.")


def test_what_no_run_has_taken_stays_in_the_inbox() -> None:
    inbox = Inbox()
    limited = Plan.of(model="m", messages="hi", tools=PLAN.tools, config=LoopConfig(max_turns=1))

    def observe(note: object) -> None:
        if type(note).__name__ == "RunSettled":
            inbox.say("Go on.")

    done = run(limited, ports([SUM]), observe=observe, inbox=inbox)
    assert done.outcome == MaxTurns(1)
    assert inbox.waiting == ("Go on.",)


def test_a_message_to_a_run_that_waits_for_approval_is_sent_after_the_result() -> None:
    journal = MemoryJournal(GUARDED)
    paused = run(GUARDED, ports([SUM]), journal=journal)
    assert isinstance(paused.outcome, Resting)
    still = speak(paused, "Be quick.", ports([]), journal=journal)
    assert isinstance(still.outcome, Resting)
    done = go_on(load_state(dump(still.state)), ports([saying("42.")], approver=Always()), journal=journal)
    assert [message.content for message in done.state.messages.messages][-2:] == ["Be quick.", "42."]
    recorded = parse_journal(journal.text)
    assert [one.kind for one in recorded.records][1:3] == ["user_spoke", "ask_approval"]
    assert played(recorded).state == done.state


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_message_is_refused_with_what_to_write(content: str) -> None:
    done = run(PLAN, ports([saying("Hello.")]))
    why = "content: the message is empty; write what the user says"
    assert complaint(ConfigError, lambda: speak(done, content, ports([]))) == why
    assert complaint(ConfigError, lambda: Inbox().say(content)) == why


def played(recorded: Recorded) -> Run:
    """The run once more, by both drivers."""
    ours, theirs = MemoryJournal(recorded.plan), MemoryJournal(recorded.plan)
    one, other = Rehearsal(recorded), AsyncRehearsal(recorded)
    done = one.play(recorded.plan, journal=ours)
    assert asyncio.run(other.play(recorded.plan, journal=theirs)) == done
    one.finish()
    other.finish()
    assert ours.text == theirs.text == recorded.text
    return done


def test_a_conversation_replays_byte_for_byte() -> None:
    failed = conversation([Lost("status", "no", 400), saying("Hi."), saying("Bye.")])
    for recorded in (conversation(), steered()[0], failed):
        done = played(recorded)
        assert done.state == retrace(recorded).run.state == fold(recorded.plan, recorded.events).state


def test_steering_between_parallel_calls_replays_at_its_place() -> None:
    inbox = Inbox()
    plan = Plan.of(
        model="m",
        messages="hi",
        tools=PythonTools([Tool.of(add, read_only=True)]).surface,
        config=LoopConfig(parallel_tools=True),
    )

    class Late(MemoryJournal):
        """A user who speaks between the results of two calls."""

        def record(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Event:
            if len(self.lines) == 2:
                inbox.say("Both of them.")
            return super().record(effect, event, lap)

    journal = Late(plan)
    two = calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2}))
    run(plan, ports([two, saying("2, 4.")]), journal=journal, inbox=inbox)
    recorded = parse_journal(journal.text)
    kinds = [one.kind for one in recorded.records]
    assert " ".join(kinds) == "send_request run_tool user_spoke run_tool send_request"
    assert played(recorded).outcome == Completed("2, 4.")


def test_a_conversation_goes_on_in_its_journal_after_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "talk.journal.jsonl"
    given = ports(THREE)
    with FileJournal(path, PLAN) as journal:
        done = run(PLAN, given, journal=journal)
    again = resume(path, given, say="And plus 1?")
    assert again.outcome == Completed("43.")
    assert not part_path(path).exists()
    with ReopenedJournal(path) as reopened:
        state = retrace(reopened.recorded).run.state
        speak(state, "Thanks!", given, journal=reopened)
    whole = conversation()
    assert read_journal(path).text == whole.text
    for driver in DRIVERS[:2]:
        assert replay(path, driver=driver).run.outcome == Completed("You are welcome.")
    assert done.outcome == Completed("42.")
