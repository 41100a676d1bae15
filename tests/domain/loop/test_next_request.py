from __future__ import annotations

from toolreel_core._conversation import (
    SystemMessage,
    UserMessage,
)
from toolreel_core._loop import (
    opening_notes,
    send_next_request,
)
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CallStarted,
    OptionIgnored,
    PresetsApplied,
    QuirkApplied,
    RequestSent,
    SendRequest,
    State,
)
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolDefinition

PLAN = Plan.of(
    model="m",
    messages=[SystemMessage("Be brief."), UserMessage("Grüße")],
    options={"temperature": 0},
    tools=[ToolDefinition.of("ping")],
    config=LoopConfig(max_turns=2),
)
EARLIER = CallStarted(1, "call_a", "ping", "structured")


def test_what_is_sent_is_noted_after_what_led_to_it() -> None:
    asked = send_next_request(State.idle(PLAN), (EARLIER,))
    (effect,) = asked.effects
    assert isinstance(effect, SendRequest)
    size = len('{"role":"system","content":"Be brief."}') + len('{"role":"user","content":"Grüße"}'.encode())
    assert asked.notes == (EARLIER, RequestSent(1, 2, size, effect.request.digest))


def test_before_the_first_request_it_is_said_what_it_was_made_of_and_what_is_left_out() -> None:
    plan = Plan.of(
        model="m",
        messages="hi",
        options={"temperature": 2, "response_format": {"type": "text"}},
        tools=[ToolDefinition.of("ping")],
        overrides={"model": "other"},
        provider=Provider(temperature_rule="max1"),
        presets=["a", "b"],
    )
    assert opening_notes(plan) == (
        PresetsApplied(("a", "b")),
        OptionIgnored("model", "reserved"),
        OptionIgnored("response_format", "with_tools"),
        QuirkApplied(1, "temperature_rule"),
    )
    assert opening_notes(PLAN) == ()
