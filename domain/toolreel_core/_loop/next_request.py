"""Asking the model: a new turn as long as the run may have one, or the same request once more."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from toolreel_core._jsontext.canonical import Tree, canonical, parse
from toolreel_core._loop.budgets import overflow, spent, used_up
from toolreel_core._loop.context_window import fitted
from toolreel_core._loop.finish import settle
from toolreel_core._plan.plan import Plan
from toolreel_core._plan.request import Request, RequestOptions
from toolreel_core._protocol.effects import SendRequest, Wait
from toolreel_core._protocol.notes import (
    Note,
    OptionIgnored,
    PresetsApplied,
    QuirkApplied,
    RequestSent,
    RetryPlanned,
)
from toolreel_core._protocol.state import AwaitingReply, State, Step, Tally, Waiting
from toolreel_core._settings.overrides import merged

__all__ = ["ask", "ask_again", "opening", "request_of", "wait"]


def opening(plan: Plan) -> tuple[Note, ...]:
    """What there is to say about the requests of a run before the first one."""
    bodies = plan.bodies
    ignored = (OptionIgnored(one.key, one.why) for one in bodies.ignored)
    quirks = (QuirkApplied(1, name) for name in bodies.quirks)
    presets = (PresetsApplied(plan.presets),) if plan.presets else ()
    unsent = (OptionIgnored(key, "unsupported") for key in _unsent(plan))
    return (*presets, *ignored, *unsent, *quirks)


def _unsent(plan: Plan) -> tuple[str, ...]:
    """What the configuration asks for and the provider does not take."""
    untold = bool(plan.tools.names) and not plan.sends_tools and plan.config.tool_use_mode != "disabled"
    unforced = _wants_a_call(plan) and not plan.provider.requires_calls()
    wanted = {"tools": untold, "tool_choice": unforced and not untold}
    return tuple(key for key, is_unsent in wanted.items() if is_unsent)


def ask(state: State, notes: tuple[Note, ...] = (), *, tools: bool = True) -> Step:
    """Send the conversation to the model, or end the run at one of its limits.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``max_turns``, ``budget`` or ``context_overflow``.

    :param tools: whether the model may call tools this time
    """
    tools = tools and not state.memory.tools_dropped and state.plan.sends_tools
    if limit := used_up(state):
        return settle(state, limit, notes)
    options = _options(state, tools=tools)
    state, shortened = fitted(state, options)
    if overfull := overflow(state, options):
        return settle(state, overfull, (*notes, *shortened))
    phase = AwaitingReply(state.next_ref, 1, tools)
    return _send(state, phase, state.tally.counted(turns=1), options, (*notes, *shortened))


def request_of(state: State, *, tools: bool) -> Request:
    """The request that the conversation amounts to; nothing but the state goes into it."""
    return Request(state.plan.model, state.messages, _options(state, tools=tools))


def _options(state: State, *, tools: bool) -> RequestOptions:
    bodies = state.plan.bodies
    if not tools:
        chosen = bodies.without_tools
    elif _wants_a_call(state.plan) and state.plan.provider.requires_calls() and not state.memory.successes:
        chosen = bodies.requiring
    else:
        chosen = bodies.with_tools
    return _pinned(chosen, state.memory.upstream) if state.memory.upstream else chosen


def _wants_a_call(plan: Plan) -> bool:
    return plan.config.require_first_call and plan.config.tool_use_mode == "enforced"


def _pinned(options: RequestOptions, upstream: str) -> RequestOptions:
    """The options with OpenRouter told to stay with one provider."""
    routing: Tree = {"provider": {"order": [upstream], "allow_fallbacks": False}}
    return RequestOptions(canonical(merged(cast("Tree", parse(options.text)), routing)))


def ask_again(state: State, phase: Waiting) -> Step:
    """Send the request that failed once more.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``budget`` if the wait used up the time.
    """
    if limit := spent(state):
        return settle(state, limit)
    again = replace(phase.failed, ref=state.next_ref, attempt=phase.failed.attempt + 1)
    return _send(state, again, state.tally, _options(state, tools=again.tools_sent), ())


def wait(state: State, phase: AwaitingReply, ms: int, notes: tuple[Note, ...]) -> Step:
    """Let time pass before the request is sent again. Leads to ``Waiting``."""
    ref = state.next_ref
    waiting = state.but(phase=Waiting(ref, ms, phase), next_ref=ref + 1)
    return Step(waiting, (Wait(ref, ms),), (*notes, RetryPlanned(state.tally.turns, phase.attempt, ms)))


def _send(
    state: State, phase: AwaitingReply, tally: Tally, options: RequestOptions, notes: tuple[Note, ...]
) -> Step:
    request, turn = Request(state.plan.model, state.messages, options), tally.turns
    texts, quirks = request.messages.texts, request.messages.quirks
    sent = RequestSent(turn, texts.count, texts.size, request.digest, phase.attempt)
    applied = [QuirkApplied(turn, name, quirks[name]) for name in sorted(quirks)] if quirks else ()
    asked = state.but(phase=phase, tally=tally, next_ref=phase.ref + 1)
    return Step(asked, (SendRequest(phase.ref, request),), (*notes, *applied, sent))
