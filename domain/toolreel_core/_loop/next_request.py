"""Send the next request: a new turn within the limits, or a retry of the same request.

The history is append-only and encoded once; a request only joins it with the plan's options, which are
encoded once per run. So the cost of a turn does not grow with the conversation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, assert_never

from toolreel_core._conversation import SUMMARIZE, shown_content
from toolreel_core._loop.budgets import exhausted_limit, spent_budget
from toolreel_core._loop.checks.restatement import reminder_of, with_task
from toolreel_core._loop.checks.withheld_tools import narrowed, withholding
from toolreel_core._loop.finish import settle
from toolreel_core._loop.summary_request import draft_of, summary_request, wanted_summary
from toolreel_core._loop.window import fit_history, overflow
from toolreel_core._plan import Plan, Request, RequestOptions, pinned
from toolreel_core._protocol import (
    AwaitingReply,
    Note,
    OptionIgnored,
    PresetsApplied,
    QuirkApplied,
    RequestSent,
    RetryPlanned,
    SchemaReduced,
    SendRequest,
    State,
    Step,
    SummaryRequested,
    Tally,
    TextCallsOff,
    UserMessagesAdded,
    Wait,
    Waiting,
)

_SAMPLE: Final = 200
"""Characters of what the user said that its note shows."""


def opening_notes(plan: Plan) -> tuple[Note, ...]:
    """Notes about the requests of a run that are known before the first one is sent."""
    bodies = plan.bodies
    ignored = (OptionIgnored(one.key, one.why) for one in bodies.ignored)
    quirks = (QuirkApplied(1, name) for name in bodies.quirks)
    presets = (PresetsApplied(plan.presets),) if plan.presets else ()
    unsent = (OptionIgnored(key, "unsupported") for key in _unsupported_keys(plan))
    unread = (TextCallsOff(),) if plan.offers_tools and not plan.config.text_dialects else ()
    reduced = (SchemaReduced(tool.outward, tool.left_out) for tool in plan.tools.definitions if tool.left_out)
    return (*presets, *ignored, *unsent, *reduced, *unread, *quirks)


def _unsupported_keys(plan: Plan) -> tuple[str, ...]:
    """Keys of the body that the configuration requires and the provider does not support."""
    tools_unsent = bool(plan.tools.names) and not plan.sends_tools and plan.config.tool_use_mode != "disabled"
    choice_unsent = _requires_call(plan) and not plan.provider.requires_calls()
    unsent_keys = {"tools": tools_unsent, "tool_choice": choice_unsent and not tools_unsent}
    return tuple(key for key, is_unsent in unsent_keys.items() if is_unsent)


def send_next_request(
    state: State, notes: tuple[Note, ...] = (), *, tools: bool = True, summarize: bool = True
) -> Step:
    """Start a new turn: send the conversation to the model, or end the run at one of its limits.

    Leads to ``AwaitingReply``, also for a summary that the turn needs, or to ``Settled`` with ``max_turns``,
    ``budget`` or ``context_overflow``.

    :param tools: whether the model may call tools in this turn
    :param summarize: whether a summary may be asked for first; once a turn is enough, unless the user speaks
    """
    # Shorten before judging the overflow: a history policy may make the request fit.
    tools = tools and not state.memory.tools_dropped and state.present.sends_tools
    # The calls of the last turn have run: their results make the history valid, so that it can go on.
    if limit := exhausted_limit(state):
        return settle(state, limit, notes)
    state, added = _with_unsent(state)
    notes, options = (*notes, *added), turn_options(state, tools=tools)
    if state.memory.withheld:
        notes = (*notes, *withholding(state, tools=tools))
    if state.present.config.context_window_tokens is not None:
        fitted = _fitted(state, options, notes, tools=tools, summarize=summarize or bool(added))
        if isinstance(fitted, Step):
            return fitted
        state, notes = fitted
    phase = AwaitingReply(state.next_ref, 1, tools)
    return _send(state, phase, state.tally.counted(turns=1), options, notes)


def _fitted(
    state: State, options: RequestOptions, notes: tuple[Note, ...], *, tools: bool, summarize: bool
) -> Step | tuple[State, tuple[Note, ...]]:
    """The state whose request fits the window; or the step that asks for a summary, or that ends the run."""
    policies = state.present.config.history_policies
    if SUMMARIZE in policies:
        # A summary costs a request, so it is asked for only where the policies before it do not suffice.
        at = policies.index(SUMMARIZE)
        state, shortened = fit_history(state, options, policies[:at])
        notes, policies = (*notes, *shortened), policies[at + 1 :]
        overflows = summarize and overflow(state, options) is not None
        if overflows and (request := wanted_summary(state, options)):
            return _ask_for_summary(state, AwaitingReply(state.next_ref, 1, tools, "summary"), request, notes)
    state, shortened = fit_history(state, options, policies)
    if overflowing := overflow(state, options):
        return settle(state, overflowing, (*notes, *shortened))
    return state, (*notes, *shortened)


def _with_unsent(state: State) -> tuple[State, tuple[UserMessagesAdded, ...]]:
    """The state with what the user has said since the last request in its history."""
    if not state.unsent:
        return state, ()
    samples = tuple([shown_content(message)[:_SAMPLE] for message in state.unsent])
    added = UserMessagesAdded(state.tally.turns + 1, samples)
    memory = with_task(state, state.unsent)
    return replace(state.said(*state.unsent), unsent=(), memory=memory), (added,)


def request_of(state: State, *, tools: bool) -> Request:
    """The request of a state, computed from the state alone; a resumed run builds the same one."""
    reminder = reminder_of(state) if state.present.config.restate_task else ""
    return Request(state.present.model, state.messages, turn_options(state, tools=tools), reminder)


def request_effect(state: State, phase: AwaitingReply) -> SendRequest:
    """The effect whose answer a phase waits for."""
    match phase.purpose:
        case "turn":
            request = request_of(state, tools=phase.tools_sent)
        case "summary":
            options = turn_options(state, tools=phase.tools_sent)
            request = summary_request(state, draft_of(state, options))
        case _:
            assert_never(phase.purpose)
    return SendRequest(phase.ref, request, phase.purpose, state.endpoint_name)


def turn_of(state: State, phase: AwaitingReply) -> int:
    """The turn that a request belongs to; one for a summary, to the turn that needs it."""
    return state.tally.turns if phase.purpose == "turn" else state.tally.turns + 1


def turn_options(state: State, *, tools: bool) -> RequestOptions:
    """The options of a turn's request."""
    plan, bodies = state.present, state.present.bodies
    if state.memory.tools_dropped:
        chosen = bodies.dropped
    elif not tools:
        chosen = bodies.without_tools
    elif _requires_call(plan) and plan.provider.requires_calls() and not state.memory.successes:
        chosen = bodies.requiring
    elif plan.constrains_calls and not wants_call(state):
        chosen = bodies.unconstrained
    else:
        chosen = narrowed(state, bodies.with_tools) if state.memory.withheld else bodies.with_tools
    return pinned(chosen, state.memory.upstream) if state.memory.upstream else chosen


def wants_call(state: State) -> bool:
    """Whether the next reply has to be a call: by the mode, or because the model has begun one.

    Also if it gave a typed answer that does not fit, since a typed answer is a call too.

    A weak model that can write nothing but a call makes one, also for "What is two plus two?". No rule tells
    from the words of a task whether it needs a tool; but what the model answers in words, while its reply is
    free, needs none.
    """
    memory, enforced = state.memory, state.present.config.tool_use_mode == "enforced"
    return enforced or bool(memory.called) or memory.corrections + memory.outputs_rejected > 0


def _requires_call(plan: Plan) -> bool:
    return plan.config.require_first_call and plan.config.tool_use_mode == "enforced"


def resend_request(state: State, phase: Waiting) -> Step:
    """Retry the failed request.

    Leads to ``AwaitingReply``, or to ``Settled`` with ``budget`` if the wait used up the time.
    """
    if limit := spent_budget(state):
        return settle(state, limit)
    retried = replace(phase.failed, ref=state.next_ref, attempt=phase.failed.attempt + 1)
    if retried.purpose == "summary":
        return _ask_for_summary(state, retried, request_effect(state, retried).request, ())
    return _send(state, retried, state.tally, turn_options(state, tools=retried.tools_sent), ())


def wait(state: State, phase: AwaitingReply, ms: int, notes: tuple[Note, ...]) -> Step:
    """Pause before a retry. Leads to ``Waiting``."""
    ref = state.next_ref
    waiting = replace(state, phase=Waiting(ref, ms, phase), next_ref=ref + 1)
    return Step(waiting, (Wait(ref, ms),), (*notes, RetryPlanned(turn_of(state, phase), phase.attempt, ms)))


def _send(
    state: State, phase: AwaitingReply, tally: Tally, options: RequestOptions, notes: tuple[Note, ...]
) -> Step:
    reminder = reminder_of(state) if state.present.config.restate_task else ""
    request, turn = Request(state.present.model, state.messages, options, reminder), tally.turns
    texts, quirks = request.sent.texts, request.sent.quirks
    sent = RequestSent(turn, texts.count, texts.size, request.digest, phase.attempt)
    applied = [QuirkApplied(turn, name, quirks[name]) for name in sorted(quirks)] if quirks else ()
    sent_state = replace(state, phase=phase, tally=tally, next_ref=phase.ref + 1)
    effect = SendRequest(phase.ref, request, phase.purpose, state.endpoint_name)
    return Step(sent_state, (effect,), (*notes, *applied, sent))


def _ask_for_summary(state: State, phase: AwaitingReply, request: Request, notes: tuple[Note, ...]) -> Step:
    """Ask the model for a summary, which is no turn. Leads to ``AwaitingReply``."""
    turn, texts, quirks = turn_of(state, phase), request.messages.texts, request.messages.quirks
    draft = draft_of(state, turn_options(state, tools=phase.tools_sent))
    asked = SummaryRequested(turn, len(draft.messages), texts.size, request.digest, phase.attempt)
    applied = [QuirkApplied(turn, name, quirks[name]) for name in sorted(quirks)]
    asking = replace(state, phase=phase, next_ref=phase.ref + 1)
    effect = SendRequest(phase.ref, request, phase.purpose, state.endpoint_name)
    return Step(asking, (effect,), (*notes, *applied, asked))
