"""Shorten what is sent of a history until it fits the context window; the stored history stays complete."""

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

_TARGET: Final = 3, 4
"""How full the window is after shortening, as a fraction. A full window would be shortened again in every
later turn, and each time the provider's prompt cache would be lost."""


def fit_history(state: State, options: RequestOptions) -> tuple[State, tuple[HistoryShortened, ...]]:
    """The state whose outgoing history fits the window, as far as the plan's policies can make it.

    :param options: what follows the messages in the next request
    """
    limit, before, applied = input_token_limit(state), state.messages, dict[str, None]()
    # Policies measure stored messages. The message that is sent can be smaller (for example without its old
    # reasoning), so a policy may save less than it counted: repeat until it fits or nothing is saved.
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
