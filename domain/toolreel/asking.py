"""Asking the model, as long as the run has turns left."""

from __future__ import annotations

from dataclasses import replace

from toolreel.effects import SendRequest
from toolreel.notes import Note, RequestSent
from toolreel.outcome import MaxTurns
from toolreel.request import Request
from toolreel.settle import settle
from toolreel.state import AwaitingReply, State, Step

__all__ = ["ask"]


def ask(state: State, notes: tuple[Note, ...] = ()) -> Step:
    """Send the conversation to the model, or end the run at its turn limit.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``max_turns``.
    """
    limit = state.plan.config.max_turns
    if state.tally.turns >= limit:
        return settle(state, MaxTurns(limit), notes)
    request = Request(state.plan.model, state.messages, state.plan.request_options)
    tally = replace(state.tally, turns=state.tally.turns + 1)
    sent = RequestSent(tally.turns, len(state.messages.texts), state.messages.size, request.digest)
    asked = replace(state, phase=AwaitingReply(state.next_ref), tally=tally, next_ref=state.next_ref + 1)
    return Step(asked, (SendRequest(state.next_ref, request),), (*notes, sent))
