"""End a run: the outcome of its final reply by ``tool_use_mode`` and ``tool_failure_policy``; budgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from toolreel_core._conversation import AssistantMessage
from toolreel_core._protocol import (
    BudgetSpent,
    Completed,
    ContentFiltered,
    ConversationSpent,
    CostUnknown,
    EmptyFinal,
    Finish,
    InvalidReply,
    MaxTurns,
    Note,
    NoToolCalls,
    Outcome,
    Refused,
    RunSettled,
    Settled,
    Spent,
    State,
    Step,
    ToolFailed,
    Truncated,
)
from toolreel_core._replies import Problem, Reply, Usage
from toolreel_core._settings import Price


def settle(state: State, outcome: Outcome, notes: tuple[Note, ...] = ()) -> Step:
    """End the run with an outcome. Leads to ``Settled``."""
    ended = replace(state, phase=Settled(outcome))
    return Step(ended, (Finish(outcome),), (*notes, RunSettled(outcome.name)))


def with_answer(state: State, reply: Reply) -> State:
    """The state with the reply's text; an empty one is not stored, since DeepSeek and Mistral reject it."""
    return state.said(AssistantMessage(reply.content, extras=reply.carry)) if reply.content else state


def outcome_of(state: State, reply: Reply) -> Outcome:
    """The outcome of a run whose last reply has no tool calls."""
    problem = reply.problem
    match problem:
        case None:
            return _outcome_of_answer(state, reply.content)
        case Problem():
            return _outcome_of_problem(problem, reply)
        case _:
            assert_never(problem)


def _outcome_of_answer(state: State, content: str) -> Outcome:
    """``Completed``, unless an enforced run called no tool or its tools failed."""
    config, memory = state.present.config, state.memory
    match config.tool_use_mode:
        case "relaxed" | "disabled":
            return Completed(content)
        case "enforced":
            if not memory.called:
                return NoToolCalls(content)
            failed = tuple(name for name in memory.called if not memory.last_ok[name])
            fatal = config.tool_failure_policy == "fatal" and failed
            return ToolFailed(failed) if fatal or not memory.successes else Completed(content)
        case _:
            assert_never(config.tool_use_mode)


def _outcome_of_problem(problem: Problem, reply: Reply) -> Outcome:
    match problem.code:
        case "EMPTY_RESPONSE":
            return EmptyFinal()
        case "TRUNCATED" | "CONTEXT_OVERFLOW":
            return Truncated(reply.content)
        case "REFUSAL":
            return Refused(problem.detail)
        case "CONTENT_FILTER":
            return ContentFiltered(problem.detail)
        case (
            "PROVIDER_ERROR"
            | "RATE_LIMITED"
            | "INVALID_BODY"
            | "NO_CHOICES"
            | "NO_MESSAGE"
            | "CALL_WITHOUT_NAME"
            | "UNSUPPORTED_CALL_TYPE"
            | "MALFORMED_FUNCTION_CALL"
        ):
            return InvalidReply(problem.code, problem.detail)
        case _:
            assert_never(problem.code)


# Budgets: what a reply or a tool adds to the tally, and whether a limit is used up.
#
# Turns, tokens, cost, time and tool calls; a cost counts as far as anybody knows it. Each exchange of a
# conversation has its limits for itself; those of the conversation count over all exchanges.


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


Limit: TypeAlias = MaxTurns | BudgetSpent | ConversationSpent | CostUnknown
"""The limit that ended a run."""


def exhausted_limit(state: State) -> Limit | None:
    """The limit that allows no further turn: ``max_turns`` or a budget; ``None`` if one is allowed."""
    limit = state.present.config.max_turns
    # What another exchange could not change comes first: it says that speaking again is of no use.
    if spent := _spent_conversation_budget(state):
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


def _spent_conversation_budget(state: State) -> ConversationSpent | CostUnknown | None:
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
