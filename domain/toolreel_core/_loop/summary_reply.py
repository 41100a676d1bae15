"""The reply to a request for a summary: taken into what is sent, or not, and then the next turn.

At most one summary is asked for before a turn, however often its request is retried. If none
comes of it, the next history policies shorten the history; without one that does, the run ends as it would
without a summary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolreel_core._conversation import summary_message
from toolreel_core._loop.finish import counted_reply
from toolreel_core._loop.next_request import (
    Draft,
    draft_of,
    output_cap,
    request_effect,
    send_next_request,
    turn_of,
    turn_options,
    wait,
)
from toolreel_core._loop.on_reply import received, retry_delay, retryable
from toolreel_core._protocol import (
    AwaitingReply,
    HistorySummarized,
    Note,
    QuirkApplied,
    RepairApplied,
    ReplyReceived,
    RequestFailed,
    RequestLost,
    State,
    Step,
    SummaryRejected,
)
from toolreel_core._replies import Reply, Usage, without_thoughts
from toolreel_core._transforms import neutralized

_SAMPLE: Final = 200
"""Characters of a summary that its note shows."""
_UNREAD: Final = frozenset({"TEXT_CALL_MALFORMED", "TEXT_CALL_TRUNCATED", "TEXT_CALL_BUILTIN"})
"""Warnings about a text that is a call."""
_SUSPECTED: Final = frozenset({"TEXT_CALL_SUSPECTED"})
"""The warning about a text that resembles one."""


def summary_received(state: State, phase: AwaitingReply, event: ReplyReceived) -> Step:
    """Handle a response with status 2xx.

    Leads on as the next turn does; to ``Waiting`` if the reply is a retryable error.
    """
    parsed = received(event.body, state)
    reply, turn = parsed.reply, turn_of(state, phase)
    quirks = [QuirkApplied(turn, name) for name in parsed.quirks]
    notes: tuple[Note, ...] = (*quirks, *[RepairApplied(turn, code) for code in reply.warnings])
    counted = counted_reply(state, reply)
    if reply.problem is not None and reply.problem.passing:
        ms = retry_delay(counted, phase, None)
        if ms is not None:
            return wait(counted, phase, ms, notes)
    options = turn_options(state, tools=phase.tools_sent)
    draft = draft_of(state, options)
    text = without_thoughts(reply.content).strip()
    if state.present.provider.special_token_guard:
        text = neutralized(text)
    why = _summary_fault(reply, state, phase) or ("" if text else "EMPTY_RESPONSE")
    # One that takes more than three quarters of what it stands for saves too little.
    if not why and draft.cost(summary_message(text)) * 4 > draft.tokens * 3:
        why = "too_long"
    if why:
        return _without_summary(counted, phase, why, notes, reply.usage)
    return _with_summary(counted, phase, draft, text, notes, reply.usage)


def summary_failed(state: State, phase: AwaitingReply, event: RequestFailed) -> Step:
    """Handle a request without a usable response.

    Leads to ``Waiting`` if the failure is retryable, else on as the next turn does.
    """
    lost = RequestLost(turn_of(state, phase), event.failure, event.status, event.retry_after_ms)
    ms = retry_delay(state, phase, event.retry_after_ms) if retryable(event) else None
    if ms is not None:
        return wait(state, phase, ms, (lost,))
    return _without_summary(state, phase, "request_failed", (lost,), Usage())


def _summary_fault(reply: Reply, state: State, phase: AwaitingReply) -> str:
    """Why a reply is no summary; empty if it is one."""
    calls = _UNREAD if state.present.config.accept_suspected_calls else _UNREAD | _SUSPECTED
    if reply.calls or not calls.isdisjoint(reply.warnings):
        return "tool_calls"
    if reply.problem is not None:
        return reply.problem.code
    cap = output_cap(request_effect(state, phase).request)
    # Some servers report ``stop`` for a truncated reply.
    is_cut = reply.finish == "length" or (cap is not None and reply.usage.completion_tokens >= cap)
    return "TRUNCATED" if is_cut else ""


def _with_summary(
    state: State, phase: AwaitingReply, draft: Draft, text: str, notes: tuple[Note, ...], usage: Usage
) -> Step:
    before, kept = state.messages, draft.with_summary(text)
    after = before.shortened(kept)
    counts = len(before.outgoing), len(kept), before.tokens, after.tokens
    tokens = usage.prompt_tokens, usage.completion_tokens
    note = HistorySummarized(turn_of(state, phase), *counts, *tokens, text[:_SAMPLE])
    summarized = replace(state, messages=after)
    return send_next_request(summarized, (*notes, note), tools=phase.tools_sent, summarize=False)


def _without_summary(
    state: State, phase: AwaitingReply, why: str, notes: tuple[Note, ...], usage: Usage
) -> Step:
    note = SummaryRejected(turn_of(state, phase), why, usage.prompt_tokens, usage.completion_tokens)
    return send_next_request(state, (*notes, note), tools=phase.tools_sent, summarize=False)
