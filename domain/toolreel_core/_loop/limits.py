"""Budgets, the context window and repetition: whether a run may send a request or run a tool.

A history that exceeds the window is shortened until it fits; only what is sent changes, the stored history
stays complete. A repetition is the same call with the same result, several times in a row. A call whose
result changes, such as polling, is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from toolreel_core._conversation.history_policies import reduced
from toolreel_core._conversation.provider_quirks import written
from toolreel_core._internal.fast_constructor import maker
from toolreel_core._jsontext.canonical import Json, parse
from toolreel_core._jsontext.digest import chain, digest, known_chain, link
from toolreel_core._plan.request import RequestOptions
from toolreel_core._protocol.notes import HistoryShortened
from toolreel_core._protocol.outcome import BudgetSpent, ContextOverflow, MaxTurns
from toolreel_core._protocol.state import Memory, State, Streak
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._settings.token_estimates import estimator
from toolreel_core._tools.result_envelope import Envelope

_MAX_NAMED: Final = 3
"""How many of the largest parts a ``ContextOverflow`` names."""


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


def estimated_tokens(state: State, options: RequestOptions) -> int:
    """Estimated tokens of the next request: messages, tools and options."""
    return state.messages.complete().tokens + estimator(state.plan.config.estimator)(options.text)


def input_token_limit(state: State) -> int | None:
    """The maximum tokens of a request; ``None`` without ``context_window_tokens``."""
    window = state.plan.config.context_window_tokens
    return None if window is None else window - state.plan.config.reserved_response_tokens


def overflow(state: State, options: RequestOptions) -> ContextOverflow | None:
    """The outcome of a request that exceeds the context window; ``None`` if it fits."""
    limit = input_token_limit(state)
    if limit is None or (estimate := estimated_tokens(state, options)) <= limit:
        return None
    return ContextOverflow(estimate, limit, _largest(state, len(options.text.encode())))


def _largest(state: State, options_bytes: int) -> tuple[str, ...]:
    sized = [(options_bytes, "tools and options")]
    for index, text in enumerate(state.messages.complete().texts):
        role = cast("Mapping[str, Json]", parse(text))["role"]
        sized.append((len(text.encode()), f"message {index} ({role})"))
    sized.sort(key=lambda item: -item[0])
    return tuple(f"{name}: {size} bytes" for size, name in sized[:_MAX_NAMED])


# Memory is built once per tool call, and has nine fields; all are passed by position.
_memory: Final = maker(Memory)


def record_repetition(memory: Memory, call: ToolCall, result: Envelope) -> tuple[Memory, int]:
    """The memory with one more result, and how many times in a row this call now had it."""
    name, arguments = call.name, call.arguments if isinstance(call.arguments, str) else call.original
    key = link(known_chain("", name), digest(arguments))
    result_digest = chain("", result.text())
    before = memory.streaks.get(key)
    times = before.times + 1 if before is not None and before.result == result_digest else 1
    last_ok = memory.last_ok.get(name)
    return _memory(
        memory.nudges,
        memory.finalizing,
        memory.tools_dropped,
        memory.successes + result.ok,
        (*memory.called, name) if last_ok is None else memory.called,
        memory.last_ok if last_ok is result.ok else memory.last_ok.set(name, result.ok),
        memory.streaks.set(key, Streak(result_digest, times)),
        memory.upstream,
        memory.corrections,
    ), times


def with_repetition_warning(result: Envelope, times: int) -> Envelope:
    """The result with a warning to the model that it repeats itself."""
    warning = f"You have made this call {times} times in a row, always with this result. Do something else."
    return replace(result, warnings=(*result.warnings, warning))


_TARGET_PERCENT: Final = 75
"""How full the window is after shortening. A full window would be shortened again in every
later turn, and each time the provider's prompt cache would be lost."""


def fit_history(state: State, options: RequestOptions) -> tuple[State, tuple[HistoryShortened, ...]]:
    """The state whose outgoing history fits the window, as far as the plan's policies can make it."""
    limit, before, applied = input_token_limit(state), state.messages, dict[str, None]()
    # Policies measure stored messages. The message that is sent can be smaller (for example without its old
    # reasoning), so a policy may save less than it counted: repeat until it fits or nothing is saved.
    while limit is not None and estimated_tokens(state, options) > limit:
        shorter, names = _shortened(state, estimated_tokens(state, options) - limit * _TARGET_PERCENT // 100)
        if shorter.messages.tokens >= state.messages.tokens:
            break
        state, applied = shorter, applied | dict.fromkeys(names)
    after = state.messages
    if after is before:
        return state, ()
    counts = len(before.outgoing), len(after.outgoing), before.tokens, after.tokens
    return state, (HistoryShortened(state.tally.turns + 1, tuple(applied), *counts),)


def _shortened(state: State, excess: int) -> tuple[State, tuple[str, ...]]:
    config, form = state.plan.config, state.messages.form
    tokens = estimator(config.estimator)
    kept, applied = reduced(
        tuple(state.messages.outgoing),
        config.history_policies,
        excess,
        lambda message: tokens(written(message, form).text),
    )
    return replace(state, messages=state.messages.shortened(kept)) if applied else state, applied
