from __future__ import annotations

from dataclasses import replace

import pytest

from tests.samples import PLAN
from toolreel_core._conversation import AssistantMessage, Message, UserMessage
from toolreel_core._loop import final_reply
from toolreel_core._protocol import (
    Completed,
    Finish,
    InvalidReply,
    Memory,
    ModelNudged,
    Outcome,
    RecoveryTried,
    RepairApplied,
    RunSettled,
    SendRequest,
    State,
    Step,
    Tally,
)
from toolreel_core._replies import Reply
from toolreel_core._settings import LoopConfig

EARLIER = RepairApplied(1, "X")
TEXT = Reply(content="Done.", finish="stop")
CALLED = Memory(successes=1, called=("ping",), last_ok=Memory().last_ok.set("ping", True))


def run(memory: Memory | None = None, turns: int = 1, **settings: float | str | None) -> State:
    plan = replace(PLAN, config=LoopConfig.of({"max_turns": 4, **settings}))
    return replace(State.idle(plan), memory=memory or Memory(), tally=Tally(turns=turns))


def heard(state: State, reply: Reply, *, tools_sent: bool = True) -> Step:
    return final_reply(state, reply, (EARLIER,), tools_sent=tools_sent)


def said(step: Step) -> list[Message]:
    """What the step has added to the history."""
    return list(step.state.messages.messages)[1:]


def ends(step: Step, outcome: Outcome, *messages: Message) -> None:
    assert step.effects == (Finish(outcome),)
    assert step.notes == (EARLIER, RunSettled(outcome.name))
    assert said(step) == list(messages)


def goes_on(step: Step, note: ModelNudged | RecoveryTried, *messages: Message) -> None:
    (effect,) = step.effects
    assert isinstance(effect, SendRequest)
    assert step.notes[:2] == (EARLIER, note)
    assert said(step) == list(messages)
    assert step.state.tally.turns == 2


GUESS = Reply(
    content='I called ping with {"host": "a"} and it answered.',
    finish="stop",
    warnings=("TEXT_CALL_SUSPECTED",),
)


TAGGED = "I wrote now <function=ping> so."


def after(memory: Memory, *texts: str) -> State:
    return run(memory).said(*map(AssistantMessage, texts))


def test_an_answer_that_is_repeated_when_asked_is_handed_over() -> None:
    asked = replace(CALLED, corrections=1)
    ended = heard(after(asked, GUESS.content), GUESS)
    assert ended.effects == (Finish(Completed(GUESS.content)),)


@pytest.mark.parametrize(
    ("state", "content"),
    [
        (after(Memory(corrections=1), GUESS.content), GUESS.content),
        (after(replace(CALLED, corrections=1), "Other."), GUESS.content),
        (after(replace(CALLED, corrections=1)), GUESS.content),
        (after(replace(CALLED, corrections=1), 'ping({"host": "a"})'), 'ping({"host": "a"})'),
        (
            after(replace(CALLED, corrections=1), TAGGED),
            TAGGED,
        ),
    ],
)
def test_what_may_still_be_a_call_is_no_answer(state: State, content: str) -> None:
    (effect,) = heard(state, replace(GUESS, content=content)).effects
    assert isinstance(effect, Finish)
    assert isinstance(effect.outcome, InvalidReply)


def test_a_call_that_only_the_finish_reason_announces_is_asked_about_once() -> None:
    announced = replace(TEXT, warnings=("FINISH_MISMATCH",))
    request = UserMessage(
        "Your reply ended as if with a tool call, but there is none in it, and nothing was run. "
        "The tools are: echo, ping. If you need one, make a tool call; if this was your answer, put such "
        "markup into a code block."
    )
    goes_on(
        heard(run(), announced),
        ModelNudged(1, "text_call_rejected", request.content),
        AssistantMessage("Done."),
        request,
    )
    ends(heard(run(Memory(corrections=1)), announced), Completed("Done."), AssistantMessage("Done."))
