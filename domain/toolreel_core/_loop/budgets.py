"""Budgets: turns, tokens, cost, time and tool calls, and whether one is used up."""

from __future__ import annotations

from toolreel_core._protocol.outcome import BudgetSpent, MaxTurns
from toolreel_core._protocol.state import State


def exhausted_limit(state: State) -> MaxTurns | BudgetSpent | None:
    """The limit that allows no further turn: ``max_turns`` or a budget; ``None`` if one is allowed."""
    limit = state.plan.config.max_turns
    return MaxTurns(limit) if state.tally.turns >= limit else spent_budget(state)


def spent_budget(state: State) -> BudgetSpent | None:
    """The first budget that is used up, or ``None``."""
    config, tally = state.plan.config, state.tally
    tokens = tally.prompt_tokens + tally.completion_tokens
    if config.max_total_tokens is not None and tokens >= config.max_total_tokens:
        return BudgetSpent("tokens", tokens, config.max_total_tokens)
    if config.max_cost is not None and tally.cost >= config.max_cost:
        return BudgetSpent("cost", tally.cost, config.max_cost)
    if config.max_wall_ms is not None and tally.at_ms >= config.max_wall_ms:
        return BudgetSpent("time", tally.at_ms, config.max_wall_ms)
    return None


def tool_calls_spent(state: State) -> BudgetSpent | None:
    """The budget of tool calls if it is used up, else ``None``."""
    limit, used = state.plan.config.max_tool_calls, state.tally.tool_calls
    return BudgetSpent("tool_calls", used, limit) if limit is not None and used >= limit else None
