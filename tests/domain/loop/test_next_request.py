from __future__ import annotations

from dataclasses import replace

import pytest

from toolreel_core._conversation import (
    AssistantMessage,
    SentCall,
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


FORCED = LoopConfig(tool_use_mode="enforced", require_first_call=True)
FORCING = Provider(supports_required="yes")


@pytest.mark.parametrize(
    ("config", "provider", "ignored"),
    [
        (FORCED, FORCING, []),
        (FORCED, Provider(), ["tool_choice"]),
        (FORCED, replace(FORCING, thinking=True), ["tool_choice"]),
        (replace(FORCED, tool_use_mode="relaxed"), Provider(), []),
        (FORCED, Provider(supports_tools="no"), ["tools"]),
        (LoopConfig(), Provider(supports_tools="no"), ["tools"]),
        (LoopConfig(tool_use_mode="disabled"), Provider(supports_tools="no"), []),
    ],
)
def test_what_the_provider_does_not_take_of_what_was_wanted_is_said(
    config: LoopConfig, provider: Provider, ignored: list[str]
) -> None:
    plan = replace(PLAN, config=config, provider=provider)
    assert opening_notes(plan) == tuple(OptionIgnored(key, "unsupported") for key in ignored)


def test_nobody_misses_tools_where_there_are_none() -> None:
    assert opening_notes(Plan.of(model="m", messages="hi", provider=Provider(supports_tools="no"))) == ()


def test_each_setting_that_changed_what_goes_out_is_noted_with_how_often() -> None:
    provider = Provider(tool_turn_content="null", id_style="kimi")
    calls = [AssistantMessage("", (SentCall(each, "ping", "{}"),)) for each in "ab"]
    plan = replace(PLAN, provider=provider, messages=tuple(calls))
    notes = send_next_request(State.idle(plan), (EARLIER,)).notes
    quirks = (QuirkApplied(1, "id_style", 2), QuirkApplied(1, "tool_turn_content", 2))
    assert notes[:-1] == (EARLIER, *quirks)
    assert isinstance(notes[-1], RequestSent)
    assert notes[-1].messages == 4
