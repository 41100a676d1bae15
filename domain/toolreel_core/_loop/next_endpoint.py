"""The next endpoint: the one that takes a turn over, and what of the conversation it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolreel_core._conversation import AssistantMessage, Message, SentCall, Transcript, project_history
from toolreel_core._jsontext import NOTHING, Json, JsonText, parse
from toolreel_core._loop.finish import exhausted_limit, with_notes
from toolreel_core._loop.next_request import opening_notes, send_next_request
from toolreel_core._plan import FallbackReason, Plan
from toolreel_core._protocol import (
    CapabilityRefused,
    EmptyFinal,
    EndpointChanged,
    EndpointPinned,
    FailureKind,
    InvalidReply,
    Outcome,
    State,
    Step,
    TransportFailed,
)

# A conversation that goes on at another endpoint: what of it is bound to the one before, and what is sent.
#
# A signature is valid for the provider that made it, and reasoning is nobody else's, so neither is ever sent
# to another one. The stored history keeps both.


# A part of the key: Google writes ``thought_signature``.
_SIGNED = "signature"
_ENCRYPTED = "encrypted_content"
"""Keys of what only its provider can read; the second is that of reasoning in Responses."""

_REDACTED = frozenset({"reasoning.encrypted", "redacted_thinking"})
"""Kinds of reasoning that only its provider can read."""


def _provider_fields_of(message: Message) -> tuple[JsonText, ...]:
    """The texts of a message's provider fields, and of those of its calls; none where there are none."""
    if not isinstance(message, AssistantMessage):
        return ()
    texts = (message.extras, *(call.extras for call in message.calls))
    return tuple(text for text in texts if text != NOTHING)


def has_signature(tree: Json) -> bool:
    """Whether there is a signature, or reasoning that only its provider can read, anywhere in a tree.

    >>> has_signature({"extra_content": {"google": {"thought_signature": "c2ln"}}})
    True
    >>> has_signature({"responses_items": [{"type": "reasoning", "encrypted_content": "c2ln"}]})
    True
    >>> has_signature({"reasoning_content": "The user wants a sum.", "signature": None})
    False
    """
    if isinstance(tree, Mapping):
        named = any(value and _SIGNED in key for key, value in tree.items()) or tree.get(_ENCRYPTED)
        return bool(named) or tree.get("type") in _REDACTED or any(map(has_signature, tree.values()))
    return isinstance(tree, Sequence) and not isinstance(tree, str) and any(map(has_signature, tree))


def _transcript_for_endpoint(state: State, after: Plan) -> tuple[Transcript, int]:
    """The conversation as another endpoint gets it, and how many messages lost fields of the one before."""
    stored, sent = tuple(state.messages.messages), tuple(state.messages.outgoing)
    opening = state.present.opening
    # Another endpoint may need the instruction for the output in its messages, or not need it.
    if after.opening != opening and sent[: len(opening)] == opening:
        sent = (*after.opening, *sent[len(opening) :])
    bare = tuple(map(_without_provider_fields, sent))
    dropped = sum(one is not other for one, other in zip(bare, sent, strict=True))
    return Transcript.of(stored, after.form, kept=None if bare == stored else bare), dropped


def _without_provider_fields(message: Message) -> Message:
    if not isinstance(message, AssistantMessage) or not _provider_fields_of(message):
        return message
    calls = tuple(SentCall(call.id, call.name, call.arguments) for call in message.calls)
    return replace(message, calls=calls, extras=NOTHING)


# Go on at the next endpoint where a run would end because of the present one.
#
# The loop of one endpoint knows nothing of others: it retries, recovers and drops tools as ever. Only where
# it ends the run, and the outcome is the endpoint's fault, the first later endpoint that takes this reason
# gets the same turn. A run never goes back, so it ends after the last one. Calls that have run are in the
# history like any other, so none runs again.


# Any other 4xx is about the request, and not the endpoint's fault.
_BY_STATUS: dict[int, FallbackReason] = {
    401: "denied",
    402: "denied",
    403: "denied",
    404: "not_found",
    408: "timeout",
    410: "not_found",
    429: "rate_limit",
}
_BY_FAILURE: dict[FailureKind, FallbackReason] = {
    "connect": "connection",
    "broken": "connection",
    "timeout": "timeout",
}
NO_REPLIES = frozenset({"PROVIDER_ERROR", "INVALID_BODY", "NO_CHOICES", "NO_MESSAGE"})
"""Problems of a body with status 200 that has nothing of a model."""
_FORMATS = ("response_format", "json_schema", "structured_output", "grammar")
"""Words in the messages with which servers reject the form of an answer, in lower case."""


def _fallback_reason(outcome: Outcome, plan: Plan) -> FallbackReason | None:
    """The reason to go on at another endpoint; ``None`` if the outcome is not the endpoint's fault.

    :param plan: the plan at the endpoint
    """
    match outcome:
        case TransportFailed(failure="status"):
            if plan.asked_by == "native" and is_format_refusal("status", outcome.status, outcome.message):
                return "capability"
            status = outcome.status or 0
            return "server_error" if status >= 500 else _BY_STATUS.get(status)
        case TransportFailed():
            return _BY_FAILURE.get(outcome.failure)
        case CapabilityRefused():
            return "capability"
        case EmptyFinal():
            return "empty"
        case InvalidReply(problem="RATE_LIMITED"):
            return "rate_limit"
        case InvalidReply():
            return "server_error" if outcome.problem in NO_REPLIES else None
        case _:  # the model's answer, a limit, or the caller's own doing
            return None


def is_format_refusal(failure: FailureKind, status: int | None, message: str) -> bool:
    """Whether the server rejected the request because of the form that it asks for, or of its constraint."""
    # Searched in the message only: the body of a validation error repeats the whole request.
    rejected = failure == "status" and status in {400, 422, 501}
    return rejected and any(word in message.lower() for word in _FORMATS)


def continue_at_next_endpoint(before: State, ended: Step) -> Step:
    """The step; or, if it ends the run for a reason to go on at another endpoint, the request there.

    Leads to ``AwaitingReply``, or where the step does.

    :param before: the state before the event
    """
    outcome = ended.state.outcome
    why = None if outcome is None else _fallback_reason(outcome, before.present)
    after = None if why is None else _next_endpoint_number(before, why)
    if why is None or after is None:
        return ended
    turn = ended.state.tally.turns
    if bound := _count_endpoint_bound_messages(before, after):
        pinned = EndpointPinned(turn, before.endpoint_name, why, bound)
        # Before the last note, which says that the run is over.
        *earlier, settled = ended.state.noted
        return Step(replace(ended.state, noted=(*earlier, pinned, settled)), ended.effects)
    messages, dropped = _transcript_for_endpoint(before, before.plan.at_fallbacks[after - 1])
    # The next endpoint need not answer for what the server before it did.
    memory = replace(ended.state.memory, tools_dropped=False, upstream="")
    # A failed request was not a turn of the model, nor was what a gateway answered instead.
    tally = replace(ended.state.tally, turns=turn - 1)
    if why == "empty":
        memory = replace(memory, finalizing=False, asked_again=False)
        tally = ended.state.tally
    there = replace(
        ended.state,
        phase=before.phase,
        messages=messages,
        tally=tally,
        memory=memory,
        endpoint=after,
        noted=ended.state.noted[:-1],  # the last says that the run is over
    )
    if exhausted_limit(there):
        return ended
    spent = tally.prompt_tokens, tally.completion_tokens, tally.known_cost
    changed = EndpointChanged(turn, before.endpoint_name, there.endpoint_name, why, dropped, *spent)
    tools = not (memory.finalizing and there.present.config.fix_empty_final_disable_tools)
    return send_next_request(with_notes(there, changed, *opening_notes(there.present)), tools=tools)


def has_next_endpoint(state: State, why: FallbackReason) -> bool:
    after = _next_endpoint_number(state, why)
    return after is not None and not _count_endpoint_bound_messages(state, after)


def _next_endpoint_number(state: State, why: FallbackReason) -> int | None:
    """The number of the first later endpoint that a reason leads to; ``None`` if there is none."""
    numbered = enumerate(state.plan.fallbacks[state.endpoint :], state.endpoint + 1)
    return next((number for number, fallback in numbered if why in fallback.on), None)


def _count_endpoint_bound_messages(state: State, after: int) -> int:
    """How many messages have what must come back to this endpoint; 0 where the next gets them without it."""
    if state.plan.fallbacks[after - 1].foreign_reasoning != "pin":
        return 0
    provider = state.present.provider
    demanded = provider.reasoning_required_on != "none"
    sent = [out.message for out in project_history(state.messages.outgoing, provider)]
    return sum(
        any(demanded or has_signature(parse(text)) for text in _provider_fields_of(message))
        for message in sent
    )
