"""Making a conversation fit the model's window again: less of it goes out, all of it stays stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from toolreel_core._conversation.message import Message
from toolreel_core._conversation.policies import reduced
from toolreel_core._conversation.wire_form import written
from toolreel_core._loop.budgets import estimated_tokens, input_token_limit
from toolreel_core._plan.request import RequestOptions
from toolreel_core._protocol.notes import HistoryShortened
from toolreel_core._protocol.state import State
from toolreel_core._settings.token_estimates import estimator

__all__ = ["fit_history"]

_TARGET: Final = 3, 4
"""The share of the room that is left filled: were it all, every later turn would shorten again, and the
provider's prompt cache would never hold."""


def fit_history(state: State, options: RequestOptions) -> tuple[State, tuple[HistoryShortened, ...]]:
    """The state with as much of its history going out as fits, by the plan's policies.

    :param options: what follows the messages in the next request
    """
    limit, before, applied = input_token_limit(state), state.messages, dict[str, None]()
    # A policy counts messages as they are stored. What goes out can be less, such as an old message
    # without its reasoning, so that a policy may think that it has saved more than it has.
    while limit is not None and estimated_tokens(state, options) > limit:
        shorter, names = _shortened(state, estimated_tokens(state, options) - _target(limit))
        if shorter.messages.tokens >= state.messages.tokens:
            break
        state, applied = shorter, applied | dict.fromkeys(names)
    after = state.messages
    if after is before:
        return state, ()
    counts = len(before.outgoing), len(after.outgoing), before.tokens, after.tokens
    return state, (HistoryShortened(state.tally.turns + 1, tuple(applied), *counts),)


def _target(limit: int) -> int:
    part, whole = _TARGET
    return limit * part // whole


def _shortened(state: State, excess: int) -> tuple[State, tuple[str, ...]]:
    policies = state.plan.config.history_policies
    kept, applied = reduced(tuple(state.messages.outgoing), policies, excess, _cost(state))
    return replace(state, messages=state.messages.shortened(kept)) if applied else state, applied


def _cost(state: State) -> Callable[[Message], int]:
    form, tokens = state.messages.form, estimator(state.plan.config.estimator)
    return lambda message: tokens(written(message, form).text)
