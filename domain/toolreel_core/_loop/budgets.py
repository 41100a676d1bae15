"""Budgets: turns, tokens, cost, time and tool calls, and whether one is used up.

Each exchange of a conversation has its limits for itself; those of the conversation count over all exchanges.
"""

from __future__ import annotations

from typing import TypeAlias

from toolreel_core._protocol import BudgetSpent, ConversationSpent, CostUnknown, MaxTurns, State

Limit: TypeAlias = MaxTurns | BudgetSpent | ConversationSpent | CostUnknown
"""The limit that ended a run."""


def exhausted_limit(state: State) -> Limit | None:
    """The limit that allows no further turn: ``max_turns`` or a budget; ``None`` if one is allowed."""
    limit = state.present.config.max_turns
    # What another exchange could not change comes first: it says that speaking again is of no use.
    if spent := _spent_conversation(state):
        return spent
    return MaxTurns(limit) if state.exchange_tally.turns >= limit else spent_budget(state)


def spent_budget(state: State) -> BudgetSpent | CostUnknown | None:
    """The first budget of this exchange that is used up, or cannot be kept; else ``None``."""
    config, tally = state.present.config, state.exchange_tally
    if unknown := _unknown_cost(state):
        return unknown
    tokens = tally.prompt_tokens + tally.completion_tokens
    if config.max_total_tokens is not None and tokens >= config.max_total_tokens:
        return BudgetSpent("tokens", tokens, config.max_total_tokens)
    if config.max_cost is not None and tally.cost >= config.max_cost:
        return BudgetSpent("cost", tally.cost, config.max_cost)
    if config.max_wall_ms is not None and tally.at_ms >= config.max_wall_ms:
        return BudgetSpent("time", tally.at_ms, config.max_wall_ms)
    return None


def _unknown_cost(state: State) -> CostUnknown | None:
    """A limited cost that nobody can count. It counts over all exchanges: none of them can spend on."""
    config, replies = state.present.config, state.tally.unpriced
    limit = config.max_conversation_cost if config.max_cost is None else config.max_cost
    return None if not replies or limit is None or not config.needs_costs else CostUnknown(replies, limit)


def _spent_conversation(state: State) -> ConversationSpent | CostUnknown | None:
    config, tally = state.present.config, state.tally
    if unknown := _unknown_cost(state):
        return unknown
    tokens = tally.prompt_tokens + tally.completion_tokens
    if config.max_conversation_turns is not None and tally.turns >= config.max_conversation_turns:
        return ConversationSpent("turns", tally.turns, config.max_conversation_turns)
    if config.max_conversation_tokens is not None and tokens >= config.max_conversation_tokens:
        return ConversationSpent("tokens", tokens, config.max_conversation_tokens)
    if config.max_conversation_cost is not None and tally.cost >= config.max_conversation_cost:
        return ConversationSpent("cost", tally.cost, config.max_conversation_cost)
    return None


def tool_calls_left(state: State) -> int | None:
    """How many calls may still reach a tool in this exchange; ``None`` without a limit."""
    limit = state.present.config.max_tool_calls
    return None if limit is None else limit - state.exchange_tally.tool_calls


def tool_calls_spent(state: State) -> BudgetSpent | None:
    """The budget of tool calls if it is used up, else ``None``."""
    limit, used = state.present.config.max_tool_calls, state.exchange_tally.tool_calls
    return BudgetSpent("tool_calls", used, limit) if limit is not None and used >= limit else None
