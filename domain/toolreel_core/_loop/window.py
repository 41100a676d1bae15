"""The context window: whether a request fits into it, and shortening the history until it does.

Only what is sent is shortened, the stored history stays complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from toolreel_core._conversation import reduced, tokens_of, written
from toolreel_core._jsontext import Json, parse
from toolreel_core._loop.checks.restatement import reminder_of
from toolreel_core._plan import Request, RequestOptions
from toolreel_core._protocol import ContextOverflow, HistoryShortened, State
from toolreel_core._settings import estimator

_MAX_NAMED: Final = 3
"""How many of the largest parts a ``ContextOverflow`` names."""


def estimated_tokens(state: State, options: RequestOptions) -> int:
    """Estimated tokens of the next request: messages, tools and options."""
    reminder = reminder_of(state) if state.present.config.restate_task else ""
    sent = Request(state.present.model, state.messages, options, reminder).sent
    return sent.tokens + estimator(state.present.config.estimator)(options.text)


def input_token_limit(state: State) -> int | None:
    """The maximum tokens of a request; ``None`` without ``context_window_tokens``."""
    window = state.present.config.context_window_tokens
    return None if window is None else window - state.present.config.reserved_response_tokens


def overflow(state: State, options: RequestOptions) -> ContextOverflow | None:
    """The outcome of a request that exceeds the context window; ``None`` if it fits."""
    limit = input_token_limit(state)
    if limit is None or (estimate := estimated_tokens(state, options)) <= limit:
        return None
    return ContextOverflow(estimate, limit, _largest(state, len(options.text.encode())))


def _largest(state: State, options_bytes: int) -> tuple[str, ...]:
    sized = [(options_bytes, "tools and options")]
    for index, text in enumerate(state.messages.complete().texts):
        tree = cast("Mapping[str, Json]", parse(text))
        role = tree.get("role") or tree.get("type")  # an item of Responses may have no role
        sized.append((len(text.encode()), f"message {index} ({role})"))
    sized.sort(key=lambda item: -item[0])
    return tuple(f"{name}: {size} bytes" for size, name in sized[:_MAX_NAMED])


_TARGET_PERCENT: Final = 75
"""How full the window is after shortening. A full window would be shortened again in every
later turn, and each time the provider's prompt cache would be lost."""


def fit_history(
    state: State, options: RequestOptions, policies: tuple[str, ...] | None = None
) -> tuple[State, tuple[HistoryShortened, ...]]:
    """The state whose outgoing history fits the window, as far as policies can make it.

    :param policies: their names; by default, those of the plan
    """
    limit, before, applied = input_token_limit(state), state.messages, dict[str, None]()
    names = state.present.config.history_policies if policies is None else policies
    # Policies measure stored messages. The message that is sent can be smaller (for example without its old
    # reasoning), so a policy may save less than it counted: repeat until it fits or nothing is saved.
    while limit is not None and estimated_tokens(state, options) > limit:
        excess = estimated_tokens(state, options) - limit * _TARGET_PERCENT // 100
        shorter, effective = _shortened(state, names, excess)
        if shorter.messages.tokens >= state.messages.tokens:
            break
        state, applied = shorter, applied | dict.fromkeys(effective)
    after = state.messages
    if after is before:
        return state, ()
    counts = len(before.outgoing), len(after.outgoing), before.tokens, after.tokens
    return state, (HistoryShortened(state.tally.turns + 1, tuple(applied), *counts),)


def _shortened(state: State, policies: tuple[str, ...], excess: int) -> tuple[State, tuple[str, ...]]:
    form, tokens = state.messages.form, estimator(state.present.config.estimator)
    kept, applied = reduced(
        tuple(state.messages.outgoing),
        policies,
        excess,
        lambda message: tokens_of(message, written(message, form).text, tokens),
    )
    return replace(state, messages=state.messages.shortened(kept)) if applied else state, applied
