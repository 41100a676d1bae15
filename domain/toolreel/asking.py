"""Asking the model: a new turn as long as the run may have one, or the same request once more."""

from __future__ import annotations

from dataclasses import replace

from toolreel.effects import SendRequest, Wait
from toolreel.limits import overflow, spent, used_up
from toolreel.notes import Note, RequestSent, RetryPlanned
from toolreel.outcome import Outcome
from toolreel.request import Request, RequestOptions
from toolreel.settle import settle
from toolreel.state import AwaitingReply, State, Step, Waiting

__all__ = ["ask", "ask_again", "request_of", "wait"]


def ask(state: State, notes: tuple[Note, ...] = (), *, tools: bool = True) -> Step:
    """Send the conversation to the model, or end the run at one of its limits.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``max_turns``, ``budget`` or ``context_overflow``.

    :param tools: whether the model may call tools this time
    """
    tools = tools and not state.memory.tools_dropped and state.plan.config.tool_use_mode != "disabled"
    if limit := _limit(state, request_of(state, tools=tools).options):
        return settle(state, limit, notes)
    tally = replace(state.tally, turns=state.tally.turns + 1)
    return _send(replace(state, tally=tally), AwaitingReply(state.next_ref, 1, tools), notes)


def request_of(state: State, *, tools: bool) -> Request:
    """The request that the conversation amounts to; nothing but the state goes into it."""
    options = state.plan.request_options if tools else state.plan.options_without_tools
    return Request(state.plan.model, state.messages.complete(), options)


def ask_again(state: State, phase: Waiting) -> Step:
    """Send the request that failed once more.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``budget`` if the wait used up the time.
    """
    if limit := spent(state):
        return settle(state, limit)
    again = replace(phase.failed, ref=state.next_ref, attempt=phase.failed.attempt + 1)
    return _send(state, again, ())


def wait(state: State, phase: AwaitingReply, ms: int, notes: tuple[Note, ...]) -> Step:
    """Let time pass before the request is sent again. Leads to ``Waiting``."""
    ref = state.next_ref
    waiting = replace(state, phase=Waiting(ref, ms, phase), next_ref=ref + 1)
    return Step(waiting, (Wait(ref, ms),), (*notes, RetryPlanned(state.tally.turns, phase.attempt, ms)))


def _limit(state: State, options: RequestOptions) -> Outcome | None:
    return used_up(state) or overflow(state, len(options.text.encode()))


def _send(state: State, phase: AwaitingReply, notes: tuple[Note, ...]) -> Step:
    request = request_of(state, tools=phase.tools_sent)
    sent = RequestSent(
        state.tally.turns, len(request.messages.texts), request.messages.size, request.digest, phase.attempt
    )
    asked = replace(state, phase=phase, next_ref=phase.ref + 1)
    return Step(asked, (SendRequest(phase.ref, request),), (*notes, sent))
