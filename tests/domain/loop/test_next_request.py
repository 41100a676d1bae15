from __future__ import annotations

from dataclasses import replace

import pytest

from tests.playbook import Playbook, asks, calling, finishes, replies_calling, returns, runs, tells
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    UserMessage,
)
from toolreel_core._jsontext import canonical
from toolreel_core._loop import (
    opening_notes,
    request_of,
    resend_request,
    send_next_request,
    wait,
)
from toolreel_core._plan import Plan, Request
from toolreel_core._protocol import (
    AwaitingReply,
    BudgetSpent,
    CallStarted,
    ContextOverflow,
    Finish,
    HistoryShortened,
    MaxTurns,
    Memory,
    OptionIgnored,
    PresetsApplied,
    QuirkApplied,
    RequestSent,
    RetryPlanned,
    RunSettled,
    SendRequest,
    Settled,
    State,
    Tally,
    Wait,
    Waiting,
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
PING = ("call_a", "ping", "{}")
PONG = ("call_b", "ping", "{}")
TOLD = State.idle(PLAN)
DROPPED = replace(TOLD, memory=Memory(tools_dropped=True))
DISABLED = State.idle(replace(PLAN, config=LoopConfig(tool_use_mode="disabled")))
EARLIER = CallStarted(1, "call_a", "ping", "structured")


def configured(**settings: int) -> State:
    return State.idle(replace(PLAN, config=LoopConfig.of(settings)))


def test_the_model_is_asked_with_the_conversation_and_the_options_of_the_plan() -> None:
    idle = State.idle(PLAN)
    asked = send_next_request(idle)
    request = Request("m", idle.messages, PLAN.bodies.with_tools)
    assert asked.effects == (SendRequest(1, request),)
    assert asked.state == replace(idle, phase=AwaitingReply(1), tally=Tally(turns=1), next_ref=2)


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


@pytest.mark.parametrize(
    ("config", "provider", "memory", "required"),
    [
        (FORCED, FORCING, Memory(), True),
        (FORCED, FORCING, Memory(successes=1), False),
        (FORCED, Provider(), Memory(), False),
        (replace(FORCED, tool_use_mode="relaxed"), FORCING, Memory(), False),
        (replace(FORCED, require_first_call=False), FORCING, Memory(), False),
    ],
)
def test_a_call_is_demanded_until_one_has_worked_where_that_is_wanted_and_supported(
    config: LoopConfig, provider: Provider, memory: Memory, required: bool
) -> None:
    plan = replace(PLAN, config=config, provider=provider)
    request = request_of(replace(State.idle(plan), memory=memory), tools=True)
    assert request.options == (plan.bodies.requiring if required else plan.bodies.with_tools)
    assert ('"tool_choice":"required"' in request.options.text) is required
    assert request_of(State.idle(plan), tools=False).options == plan.bodies.without_tools


def test_a_run_that_was_pinned_stays_with_its_upstream() -> None:
    plan = replace(PLAN, overrides=canonical({"provider": {"sort": "price", "order": ["a", "b"]}}))
    pinned = replace(State.idle(plan), memory=Memory(upstream="b"))
    for tools, options in ((True, plan.bodies.with_tools), (False, plan.bodies.without_tools)):
        routing = '"provider":{"sort":"price","order":["b"],"allow_fallbacks":false}'
        wanted = options.text.replace('"provider":{"sort":"price","order":["a","b"]}', routing)
        assert request_of(pinned, tools=tools).options.text == wanted
        assert routing in wanted


def test_a_provider_without_tools_is_sent_none() -> None:
    plan = replace(PLAN, provider=Provider(supports_tools="no"))
    asked = send_next_request(State.idle(plan))
    assert asked.state.phase == AwaitingReply(1, tools_sent=False)


def test_each_setting_that_changed_what_goes_out_is_noted_with_how_often() -> None:
    provider = Provider(tool_turn_content="null", id_style="kimi")
    calls = [AssistantMessage("", (SentCall(each, "ping", "{}"),)) for each in "ab"]
    plan = replace(PLAN, provider=provider, messages=tuple(calls))
    notes = send_next_request(State.idle(plan), (EARLIER,)).notes
    quirks = (QuirkApplied(1, "id_style", 2), QuirkApplied(1, "tool_turn_content", 2))
    assert notes[:-1] == (EARLIER, *quirks)
    assert isinstance(notes[-1], RequestSent)
    assert notes[-1].messages == 4


def test_a_conversation_that_fits_no_more_is_shortened_before_it_goes_out() -> None:
    old: tuple[Message, ...] = (
        *(UserMessage("hi"), AssistantMessage("x" * 400)),
        *(UserMessage("more"), AssistantMessage("y")),
    )
    config = LoopConfig(context_window_tokens=100, history_policies=("keep_newest_turns",))
    plan = Plan.of(model="m", messages=[*old, UserMessage("now")], config=config)
    asked = send_next_request(State.idle(plan), (EARLIER,))
    before, shortened, sent = asked.notes
    assert (before, type(shortened)) == (EARLIER, HistoryShortened)
    assert isinstance(sent, RequestSent)
    assert sent.messages < len(plan.messages)
    assert tuple(asked.state.messages.messages) == plan.messages
    ended = send_next_request(State.idle(replace(plan, config=replace(config, context_window_tokens=1))))
    assert [type(note) for note in ended.notes] == [HistoryShortened, RunSettled]


def test_a_run_that_has_no_turn_left_ends() -> None:
    spent = replace(State.idle(PLAN), tally=Tally(turns=2))
    ended = send_next_request(spent, (EARLIER,))
    assert ended.effects == (Finish(MaxTurns(2)),)
    assert ended.notes == (EARLIER, RunSettled("max_turns"))
    assert ended.state == replace(spent, phase=Settled(MaxTurns(2)))


@pytest.mark.parametrize("state", [TOLD, DROPPED, DISABLED], ids=["told", "dropped", "disabled"])
def test_a_request_without_tools_says_so_in_the_phase(state: State) -> None:
    asked = send_next_request(state, tools=state is not TOLD)
    request = Request("m", state.messages, PLAN.bodies.without_tools)
    assert asked.effects == (SendRequest(1, request),)
    assert asked.state.phase == AwaitingReply(1, tools_sent=False)


def test_a_budget_that_is_used_up_ends_the_run() -> None:
    rich = configured(max_total_tokens=10)
    assert isinstance(send_next_request(replace(rich, tally=Tally(prompt_tokens=9))).effects[0], SendRequest)
    ended = send_next_request(replace(rich, tally=Tally(prompt_tokens=9, completion_tokens=1)))
    assert ended.effects == (Finish(BudgetSpent("tokens", 10, 10)),)


def test_a_conversation_that_does_not_fit_ends_the_run() -> None:
    ended = send_next_request(configured(context_window_tokens=1), (EARLIER,))
    assert isinstance(ended.state.phase, Settled)
    assert isinstance(ended.state.phase.outcome, ContextOverflow)
    assert ended.notes == (EARLIER, RunSettled("context_overflow"))


def test_a_request_that_failed_waits_and_goes_out_again_as_it_was() -> None:
    asked = send_next_request(State.idle(PLAN), tools=False).state
    assert isinstance(asked.phase, AwaitingReply)
    waiting = wait(asked, asked.phase, 700, (EARLIER,))
    assert waiting.effects == (Wait(2, 700),)
    assert waiting.notes == (EARLIER, RetryPlanned(1, 1, 700))
    phase = Waiting(2, 700, asked.phase)
    assert waiting.state.phase == phase
    again = resend_request(waiting.state, phase)
    assert again.effects == (SendRequest(3, request_of(asked, tools=False)),)
    assert again.state.phase == AwaitingReply(3, 2, tools_sent=False)
    assert [(note.turn, note.attempt) for note in again.notes if isinstance(note, RequestSent)] == [(1, 2)]
    assert again.state.tally == Tally(turns=1)


def test_a_wait_that_used_up_the_time_ends_the_run() -> None:
    asked = send_next_request(configured(max_wall_ms=1_000)).state
    assert isinstance(asked.phase, AwaitingReply)
    phase = Waiting(2, 700, asked.phase)
    in_time, too_late = (replace(asked, phase=phase, tally=Tally(1, at_ms=ms)) for ms in (999, 1_000))
    assert isinstance(resend_request(in_time, phase).effects[0], SendRequest)
    assert resend_request(too_late, phase).effects == (Finish(BudgetSpent("time", 1_000, 1_000)),)


def test_the_tools_of_the_last_turn_still_run_and_stand_in_the_history() -> None:
    played = Playbook(PLAN).play(
        asks(),
        replies_calling(PING),
        runs("call_a", "ping", {}),
        returns("pong"),
        asks(calling(PING), tells("call_a", "ping", {"value": "pong"})),
        replies_calling(PONG),
        runs("call_b", "ping", {}),
        returns("pong"),
        finishes(MaxTurns(2)),
    )
    last = list(played.state.messages.messages)[-2:]
    assert last == [calling(PONG), tells("call_b", "ping", {"value": "pong"})]
    assert played.state.tally == Tally(turns=2, tool_calls=2, unpriced=2)
