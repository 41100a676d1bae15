"""What of a conversation is bound to an endpoint, and what another one gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolreel_core._conversation import AssistantMessage, SentCall, SystemMessage, Transcript, UserMessage
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import extras_of, is_signed, moved, without_extras
from toolreel_core._plan import FallbackPlan, Plan
from toolreel_core._protocol import State
from toolreel_core._settings import LoopConfig

SCHEMA: dict[str, Json] = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("tree", "signed"),
    [
        ({"extra_content": {"google": {"thought_signature": "c2ln"}}}, True),
        ({"thinking_blocks": [{"type": "thinking", "thinking": "So.", "signature": "c2ln"}]}, True),
        ({"thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]}, True),
        ({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}, True),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "So.", "signature": None}]}, False),
        ({"reasoning_content": "a signature"}, False),
        ({"provider_specific_fields": {"refusal": None}}, False),
    ],
)
def test_signatures_are_found_wherever_they_are(tree: Json, signed: bool) -> None:
    assert is_signed(tree) is signed


def test_messages_lose_the_fields_of_their_provider_and_nothing_else() -> None:
    signed = SentCall("call_a", "ping", "{}", canonical({"signature": "s"}))
    said = AssistantMessage("", (signed,), canonical({"reasoning_content": "So."}))
    bare = AssistantMessage("", (SentCall("call_a", "ping", "{}"),))
    plain = (SystemMessage("Be kind."), UserMessage("hi"), AssistantMessage("Hello."))
    assert without_extras([*plain, said]) == ((*plain, bare), 1)
    assert extras_of(said) == (said.extras, signed.extras)


def test_the_opening_is_that_of_the_endpoint_while_it_is_sent() -> None:
    there = FallbackPlan.of("backup", model="b", config=LoopConfig(output_mode="text"))
    native = LoopConfig(output_mode="native")
    plan = Plan.of(model="a", messages="hi", output=SCHEMA, config=native, fallbacks=[there])
    state, after = State.idle(plan), plan.at_fallbacks[0]
    said, dropped = moved(state, after)
    assert (tuple(said.outgoing), tuple(said.messages), dropped) == (after.opening, plan.messages, 0)
    # A history that was shortened may not begin with it.
    short = replace(
        state, messages=state.messages.append(UserMessage("more")).shortened([UserMessage("more")])
    )
    assert tuple(moved(short, after)[0].outgoing) == (UserMessage("more"),)


def test_a_history_that_needs_no_change_is_sent_as_it_is_stored() -> None:
    plan = Plan.of(model="a", messages="hi", fallbacks=[FallbackPlan.of("backup", model="b")])
    assert moved(State.idle(plan), plan.at_fallbacks[0]) == (Transcript.of(plan.messages), 0)
