"""The user speaks: the next exchange after an end, or a message that waits for the next request.

A conversation is one fold. What a message finds decides what it does:

- After the end, it begins the next exchange: a new question with its own limits, on the same history.
- While a request, tools or an approval are pending, it is kept in ``State.unsent`` and joins the next
  request, after the results of the calls (steering).
- If the answer was on its way already, the message begins the next exchange, as if the user had waited for
  the answer. Any other end of the run is for the caller to see first: the message stays kept, and what the
  user says next is sent after it.
"""

from __future__ import annotations

from dataclasses import replace

from toolreel_core._conversation import Transcript, UserMessage
from toolreel_core._loop.finish import settle
from toolreel_core._loop.next_request import opening_notes, send_next_request
from toolreel_core._protocol import (
    Completed,
    ExchangeBegan,
    Note,
    Outcome,
    State,
    Step,
    UserMessageKept,
    UserSpoke,
)


def kept(state: State, event: UserSpoke) -> State:
    """The state with the message among those that the next request sends."""
    return replace(state, unsent=(*state.unsent, UserMessage(event.content, event.parts)))


def keep(state: State, event: UserSpoke) -> Step:
    """Keep the message for the next request. Stays in the phase."""
    return Step(kept(state, event), (), (UserMessageKept(state.tally.turns),))


def next_exchange(state: State, notes: tuple[Note, ...] = ()) -> Step:
    """Begin the next exchange with what the user said.

    Leads to ``AwaitingReply``, or to ``Settled`` if a budget of the conversation is used up.
    """
    began = replace(state, memory=state.memory.of_next_exchange(), exchange_began=state.tally)
    if not state.messages.stored.count:
        # A run whose first messages no transform could take has none of them in its history.
        began = replace(began, messages=Transcript.of(state.present.opening, state.present.form))
    # A run that was cancelled before its first request has not said yet what it leaves out of its requests.
    opening = () if state.tally.turns else opening_notes(state.present)
    return send_next_request(began, (*notes, ExchangeBegan(state.tally.turns + 1), *opening))


def end_exchange(state: State, outcome: Outcome, notes: tuple[Note, ...]) -> Step:
    """End the run after a reply without calls; a complete answer goes on with what the user said meanwhile.

    Leads to ``Settled``, or on as :func:`next_exchange` does.
    """
    ended = settle(state, outcome, notes)
    if not (state.unsent and isinstance(outcome, Completed)):
        return ended
    return next_exchange(ended.state, ended.notes)
