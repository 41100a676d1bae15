"""What a reply or a tool adds to the tally: tokens, and what they cost as far as anybody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolreel_core._protocol import Spent, State
from toolreel_core._replies import Reply, Usage
from toolreel_core._settings import Price

_NOTHING: Final = Usage()


def counted_reply(state: State, reply: Reply) -> State:
    """The state with the reply in its tally.

    An error without any tokens, such as an overload with status 200, is no reply of the model: nobody bills
    it, so it does not make the cost unknown.
    """
    usage, price = reply.usage, state.present.price
    if reply.problem is not None and usage == _NOTHING and not reply.content:
        return state
    # What the provider reports is what it bills: it takes precedence over any list.
    if usage.cost is None and price is not None:
        usage = replace(usage, cost=_cost(usage, price))
    return replace(state, tally=state.tally.read(usage))


def counted_spending(state: State, spent: Spent | None) -> State:
    """The state with what a tool took of models in its tally."""
    if spent is None:
        return state
    price = state.present.price
    known = spent if price is None else spent.in_currency(price.currency)
    return replace(state, tally=state.tally.spend(known))


def _cost(usage: Usage, price: Price) -> float | None:
    """The cost by a price for text; ``None`` if nothing was counted, or audio was, which costs otherwise."""
    counted = usage.prompt_tokens + usage.completion_tokens
    if not counted or usage.prompt_audio_tokens or usage.completion_audio_tokens:
        return None
    return price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
