"""End a run: the outcome of its final reply by ``tool_use_mode`` and ``tool_failure_policy``; budgets."""

from __future__ import annotations

from dataclasses import replace

from toolreel_core._conversation import AssistantMessage
from toolreel_core._protocol import (
    BudgetKind,
    BudgetSpent,
    Completed,
    ContentFiltered,
    ConversationBudgetKind,
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
    Tally,
    ToolFailed,
    Truncated,
)
from toolreel_core._replies import Problem, Reply, Usage


def with_notes(state: State, *notes: Note) -> State:
    return replace(state, noted=(*state.noted, *notes))


def settle(state: State, outcome: Outcome) -> Step:
    """End the run with an outcome. Leads to ``Settled``."""
    noted = (*state.noted, RunSettled(outcome.name))
    return Step(replace(state, phase=Settled(outcome), noted=noted), (Finish(outcome),))


def with_reply_stored(state: State, reply: Reply) -> State:
    """The state with the reply's text; an empty one is not stored, since DeepSeek and Mistral reject it."""
    return state.said(AssistantMessage(reply.content, extras=reply.carry)) if reply.content else state


def outcome_of_reply(state: State, reply: Reply) -> Outcome:
    config, memory, problem = state.present.config, state.memory, reply.problem
    if problem is not None:
        return _outcome_of_problem(problem, reply.content)
    if config.tool_use_mode != "enforced":
        return Completed(reply.content)
    if not memory.called:
        return NoToolCalls(reply.content)
    failed = tuple(name for name in memory.called if not memory.last_ok[name])
    fatal = config.tool_failure_policy == "fatal" and failed
    return ToolFailed(failed) if fatal or not memory.successes else Completed(reply.content)


def _outcome_of_problem(problem: Problem, content: str) -> Outcome:
    match problem.code:
        case "EMPTY_RESPONSE":
            return EmptyFinal()
        case "TRUNCATED" | "CONTEXT_OVERFLOW":
            return Truncated(content)
        case "REFUSAL":
            return Refused(problem.detail)
        case "CONTENT_FILTER":
            return ContentFiltered(problem.detail)
        case _:
            return InvalidReply(problem.code, problem.detail)


# Budgets: what a reply or a tool adds to the tally, and whether a limit is used up.
#
# Turns, tokens, cost, time and tool calls; a cost counts as far as anybody knows it. Each exchange of a
# conversation has its limits for itself; those of the conversation count over all exchanges.


def tally_with_reply(state: State, reply: Reply) -> Tally:
    """The tally with the reply in it."""
    # An error without any tokens, such as an overload with status 200, is not a reply of the model: nobody
    # bills it, so it does not make the cost unknown.
    usage, price = reply.usage, state.present.price
    if reply.problem is not None and usage == Usage() and not reply.content:
        return state.tally
    counted = usage.prompt_tokens + usage.completion_tokens
    # What the provider reports is what it bills: it takes precedence over any list. A price is for text, so
    # it says nothing of audio.
    audio = usage.prompt_audio_tokens or usage.completion_audio_tokens
    if usage.cost is None and price is not None and counted and not audio:
        cost = price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
        usage = replace(usage, cost=cost)
    return state.tally.plus(usage)


def with_tool_spending(state: State, spent: Spent) -> State:
    price = state.present.price
    known = spent if price is None else spent.in_currency(price.currency)
    return replace(state, tally=state.tally.plus(known))


def exhausted_limit(state: State) -> Outcome | None:
    """The limit that allows no further turn: ``max_turns`` or a budget; ``None`` if one is allowed."""
    config, tally, limit = state.present.config, state.tally, state.present.config.max_turns
    # What another exchange could not change comes first: it says that speaking again is of no use.
    if unknown := _unknown_cost_outcome(state):
        return unknown
    tokens = tally.prompt_tokens + tally.completion_tokens
    limits: tuple[tuple[ConversationBudgetKind, float, float | None], ...] = (
        ("turns", tally.turns, config.max_conversation_turns),
        ("tokens", tokens, config.max_conversation_tokens),
        ("cost", tally.cost, config.max_conversation_cost),
    )
    for kind, used, most in limits:
        if most is not None and used >= most:
            return ConversationSpent(kind, used, most)
    return MaxTurns(limit) if state.exchange_tally.turns >= limit else exhausted_budget_outcome(state)


def exhausted_budget_outcome(state: State) -> BudgetSpent | CostUnknown | None:
    """The first budget of this exchange that is used up, or cannot be kept; else ``None``."""
    config, tally = state.present.config, state.exchange_tally
    if unknown := _unknown_cost_outcome(state):
        return unknown
    limits: tuple[tuple[BudgetKind, float, float | None], ...] = (
        ("tokens", tally.prompt_tokens + tally.completion_tokens, config.max_total_tokens),
        ("cost", tally.cost, config.max_cost),
        ("time", tally.at_ms, config.max_wall_ms),
    )
    for kind, used, most in limits:
        if most is not None and used >= most:
            return BudgetSpent(kind, used, most)
    return None


def _unknown_cost_outcome(state: State) -> CostUnknown | None:
    """A limited cost that nobody can count. It counts over all exchanges: none of them can spend on."""
    config, replies = state.present.config, state.tally.unpriced
    limit = config.max_conversation_cost if config.max_cost is None else config.max_cost
    return None if not replies or limit is None or not config.needs_costs else CostUnknown(replies, limit)
