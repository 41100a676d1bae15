from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.samples import PLAN
from toolreel_core._conversation import AssistantMessage, Message, UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._loop import final_reply
from toolreel_core._protocol import (
    AwaitingReply,
    Completed,
    EmptyFinal,
    Finish,
    InvalidReply,
    Memory,
    ModelNudged,
    NoToolCalls,
    Outcome,
    RecoveryTried,
    Refused,
    RepairApplied,
    RunSettled,
    SendRequest,
    State,
    Step,
    Tally,
    Truncated,
)
from toolreel_core._replies import Problem, Reply
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolSurface

EARLIER = RepairApplied(1, "X")
TEXT = Reply(content="Done.", finish="stop")
SILENT = Reply(finish="stop", problem=Problem("EMPTY_RESPONSE"))
GARBLED = Reply(content="<tool_call>{", finish="stop", warnings=("TEXT_CALL_MALFORMED",))
CUT = replace(GARBLED, finish="length", problem=Problem("TRUNCATED"), warnings=("TEXT_CALL_TRUNCATED",))
CALLED = Memory(successes=1, called=("ping",), last_ok=Memory().last_ok.set("ping", True))
ASKED_AGAIN = Memory(asked_again=True)
FAILED = Memory(called=("ping",), last_ok=Memory().last_ok.set("ping", False))


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


def test_a_text_ends_the_run_and_an_empty_one_stays_out_of_the_history() -> None:
    ends(heard(run(), TEXT), Completed("Done."), AssistantMessage("Done."))
    ends(heard(run(ASKED_AGAIN), SILENT), EmptyFinal())


def test_what_the_provider_said_beside_its_words_is_kept_with_them() -> None:
    own = canonical({"reasoning_content": "Hm."})
    thought = AssistantMessage("Done.", extras=own)
    ends(heard(run(), replace(TEXT, carry=own)), Completed("Done."), thought)
    ends(heard(run(ASKED_AGAIN), replace(SILENT, carry=own)), EmptyFinal())


ENFORCED: dict[str, Any] = {"tool_use_mode": "enforced", "nudge_no_tool_calls": 1}
TOOLS_ARE = "The tools are: echo, ping. Call the one that you need now."


@pytest.mark.parametrize(
    ("memory", "reproach"),
    [(Memory(), "You have not called a tool yet."), (FAILED, "No tool call has succeeded yet.")],
)
def test_an_enforced_run_asks_again_until_a_tool_worked(memory: Memory, reproach: str) -> None:
    request = UserMessage(f"{reproach} {TOOLS_ARE}")
    nudged = heard(run(memory, **ENFORCED), TEXT)
    goes_on(nudged, ModelNudged(1, "no_tool_calls"), AssistantMessage("Done."), request)
    assert nudged.state.memory == replace(memory, nudges=1)
    goes_on(heard(run(memory, **ENFORCED), SILENT), ModelNudged(1, "no_tool_calls"), request)


def test_an_enforced_run_asks_no_more_often_than_configured() -> None:
    ends(heard(run(Memory(nudges=1), **ENFORCED), TEXT), NoToolCalls("Done."), AssistantMessage("Done."))
    ends(heard(run(CALLED, **ENFORCED), TEXT), Completed("Done."), AssistantMessage("Done."))


@pytest.mark.parametrize(
    ("state", "tools_sent"),
    [
        (run(turns=4, **ENFORCED), True),
        (replace(run(max_total_tokens=9, **ENFORCED), tally=Tally(1, prompt_tokens=9)), True),
        (run(**ENFORCED), False),
    ],
)
def test_nobody_is_asked_again_where_that_could_not_help(state: State, tools_sent: bool) -> None:
    step = heard(state, TEXT, tools_sent=tools_sent)
    ends(step, NoToolCalls("Done."), AssistantMessage("Done."))


def test_without_tools_there_is_nothing_to_ask_for() -> None:
    bare = run()
    bare = replace(bare, plan=replace(bare.plan, tools=ToolSurface()))
    unread = InvalidReply("MALFORMED_FUNCTION_CALL", GARBLED.content)
    ends(heard(bare, GARBLED), unread, AssistantMessage(GARBLED.content))


def test_a_refusal_is_not_argued_with() -> None:
    refusal = Reply(problem=Problem("REFUSAL", "No."))
    ends(heard(run(**ENFORCED), refusal), Refused("No."))
    ends(heard(run(**ENFORCED), replace(refusal, warnings=GARBLED.warnings)), Refused("No."))


@pytest.mark.parametrize(("reply", "what"), [(GARBLED, "could not be read"), (CUT, "was cut")])
def test_a_call_as_text_that_could_not_be_read_is_asked_for_again(reply: Reply, what: str) -> None:
    request = UserMessage(f"Your tool call {what}, and nothing was run. {TOOLS_ARE}")
    nudged = heard(run(), reply)
    goes_on(nudged, ModelNudged(1, "text_call_rejected"), AssistantMessage(reply.content), request)


def test_a_call_as_text_is_no_reason_to_ask_where_no_calls_were_wanted() -> None:
    final = AssistantMessage(GARBLED.content)
    off = heard(run(nudge_no_tool_calls=1), GARBLED, tools_sent=False)
    ends(off, Completed(GARBLED.content), final)


def corrected(run: State) -> State:
    return replace(run, memory=replace(run.memory, corrections=1))


def test_a_call_as_text_that_could_not_be_read_again_is_never_a_final_answer() -> None:
    final = AssistantMessage(GARBLED.content)
    unread = InvalidReply("MALFORMED_FUNCTION_CALL", GARBLED.content)
    for last in (corrected(run()), corrected(run(nudge_no_tool_calls=1)), run(max_turns=1)):
        ends(heard(last, GARBLED), unread, final)
    ends(heard(corrected(run()), CUT), Truncated(CUT.content), AssistantMessage(CUT.content))
    twice = heard(corrected(run(nudge_no_tool_calls=2)), GARBLED)
    assert twice.state.memory.corrections == 2


def test_correcting_a_model_and_nudging_it_are_counted_apart() -> None:
    told = heard(run(), GARBLED).state.memory
    assert (told.corrections, told.nudges) == (1, 0)
    nudged = heard(run(**ENFORCED), TEXT).state.memory
    assert (nudged.corrections, nudged.nudges) == (0, 1)


SAY_IT = UserMessage("Now answer in words: what is the result?")


@pytest.mark.parametrize("tools", [False, True])
def test_an_empty_text_after_tools_is_asked_for_once_more(tools: bool) -> None:
    state = run(CALLED, fix_empty_final_disable_tools=not tools)
    asked = heard(state, SILENT)
    goes_on(asked, RecoveryTried(1, tools), SAY_IT)
    assert isinstance(asked.state.phase, AwaitingReply)
    assert asked.state.phase.tools_sent is tools
    ends(heard(run(asked.state.memory), SILENT), EmptyFinal())


def test_an_empty_text_is_judged_as_it_is_where_nothing_may_be_asked() -> None:
    ends(heard(run(CALLED, fix_empty_final=False), SILENT), EmptyFinal())
    ends(heard(run(CALLED, turns=4), SILENT), EmptyFinal())
    ends(heard(run(fix_empty_final=False), SILENT), EmptyFinal())
    ends(heard(run(turns=4), SILENT), EmptyFinal())


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [(True, "Call the tool that you need, or answer in words."), (False, "Answer in words.")],
)
def test_an_empty_first_reply_is_asked_for_once_more_with_its_tools(tools: bool, wanted: str) -> None:
    asked = heard(run(), SILENT, tools_sent=tools)
    goes_on(asked, RecoveryTried(1, tools), UserMessage(f"Your reply was empty. {wanted}"))
    assert isinstance(asked.state.phase, AwaitingReply)
    assert asked.state.phase.tools_sent is tools
    ends(heard(run(asked.state.memory), SILENT), EmptyFinal())


def test_after_an_empty_first_reply_an_empty_final_is_still_asked_for() -> None:
    asked = heard(run(replace(CALLED, asked_again=True)), SILENT)
    goes_on(asked, RecoveryTried(1, False), SAY_IT)


LOOKS_LIKE_ONE = Reply(content="<function=ping>", finish="stop", warnings=("TEXT_CALL_SUSPECTED",))
MARKUP = AssistantMessage(LOOKS_LIKE_ONE.content)


def test_a_text_that_looks_like_a_call_is_asked_about_once_and_is_never_the_answer() -> None:
    request = UserMessage(
        "Your reply looks like a tool call written as text, and nothing was run. The tools are: echo, ping. "
        "If you need one, make a tool call; if this was your answer, put such markup into a code block."
    )
    goes_on(heard(run(), LOOKS_LIKE_ONE), ModelNudged(1, "text_call_rejected"), MARKUP, request)
    unread = InvalidReply("MALFORMED_FUNCTION_CALL", LOOKS_LIKE_ONE.content)
    for last in (corrected(run()), run(turns=4), run(replace(CALLED, finalizing=True), turns=4)):
        ends(heard(last, LOOKS_LIKE_ONE), unread, MARKUP)


def test_a_call_in_the_text_that_was_asked_for_without_tools_is_no_answer() -> None:
    unread = InvalidReply("MALFORMED_FUNCTION_CALL", LOOKS_LIKE_ONE.content)
    finalizing = run(replace(CALLED, finalizing=True))
    ends(heard(finalizing, LOOKS_LIKE_ONE, tools_sent=False), unread, MARKUP)


def test_a_plan_may_take_what_looks_like_a_call_for_the_answer() -> None:
    accepting = run(accept_suspected_calls=True)
    ends(heard(accepting, LOOKS_LIKE_ONE), Completed(LOOKS_LIKE_ONE.content), MARKUP)


def test_the_sentence_of_a_recovery_is_that_of_the_plan() -> None:
    asked = heard(run(CALLED, fix_empty_final_text="Und?"), SILENT)
    goes_on(asked, RecoveryTried(1, False), UserMessage("Und?"))
