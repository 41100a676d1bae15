"""Runs at several endpoints that fail at random: they end, no call runs twice, no signature goes astray."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.playbook import body_of
from toolreel_core._conversation import ToolMessage
from toolreel_core._jsontext import canonical
from toolreel_core._loop import pending, start, step
from toolreel_core._plan import REASONS, FallbackPlan, ForeignReasoning, Plan
from toolreel_core._protocol import (
    Effect,
    Event,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    Settled,
    ToolReturned,
    Wait,
    WaitElapsed,
    dump,
    load_state,
)
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolDefinition

PING = ToolDefinition("ping", "Pings.", canonical({"type": "object"}))
STATUSES = (400, 403, 404, 408, 429, 500, 503)
ANSWERS = ("call", "calls", "text", "empty", "garbage", "refuses tools", "lost", "late", *STATUSES)

Answer = str | int


def fallback(name: str) -> st.SearchStrategy[FallbackPlan]:
    rules: st.SearchStrategy[ForeignReasoning] = st.sampled_from(("pin", "drop"))
    return st.builds(
        lambda on, foreign, replay, tries: FallbackPlan.of(
            name,
            model=name,
            on=on,
            foreign_reasoning=foreign,
            provider=Provider(reasoning_replay=replay),
            config=LoopConfig(max_tries=tries, fallback_without_tools=True),
        ),
        st.lists(st.sampled_from(REASONS), min_size=1, unique=True),
        rules,
        st.sampled_from(("verbatim", "current_turn", "never")),
        st.integers(1, 2),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    others = [draw(fallback(name)) for name in ("second", "third")]
    config = LoopConfig(max_tries=draw(st.integers(1, 2)), max_turns=8)
    return Plan.of(model="first", messages="hi", tools=[PING], config=config, fallbacks=others)


def signed(model: str, turn: int, calls: int) -> dict[str, Any]:
    """A reply with calls that the model has signed."""
    body: dict[str, Any] = body_of(None, *(("", "ping", "{}") for _ in range(calls)))
    for number, call in enumerate(body["choices"][0]["message"]["tool_calls"]):
        call["id"] = f"call_{turn}_{number}"
        call["extra_content"] = {"signature": f"signed-by-{model}"}
    return body


def answered(effect: Effect, answer: Answer) -> Event:
    match effect:
        case SendRequest(ref, request):
            return replied(ref, request.model, answer)
        case RunTool(ref):
            return ToolReturned(ref, canonical({"ref": ref}))
        case Wait(ref):
            return WaitElapsed(ref)
        case _:
            raise AssertionError(effect)


def replied(ref: int, model: str, answer: Answer) -> Event:
    match answer:
        case int():
            return RequestFailed(ref, "status", "no", answer)
        case "refuses tools":
            return RequestFailed(ref, "status", "tools are not supported", 400)
        case "lost":
            return RequestFailed(ref, "connect", "refused")
        case "late":
            return RequestFailed(ref, "timeout", "late")
        case "garbage":
            return ReplyReceived(ref, 200, "<html>")
        case "call" | "calls":
            return ReplyReceived(ref, 200, canonical(signed(model, ref, 1 + (answer == "calls"))))
        case _:
            return ReplyReceived(ref, 200, canonical(body_of("" if answer == "empty" else "Hello.")))


def performed(plan: Plan, answers: list[Answer]) -> Iterator[Effect]:
    """The effects of a run, each state of which is stored and loaded; the last request gets an answer."""
    at, given_answers = start(plan), iter([*answers, *["text"] * 40])
    while not isinstance(at.state.phase, Settled):
        yield from at.effects
        (effect, *_) = pending(at.state)
        answer = next(given_answers) if isinstance(effect, SendRequest) else ""
        event = answered(effect, answer)
        following = step(at.state, event)
        assert step(load_state(dump(at.state)), event) == following
        at = following
    calls = [call.id for message in at.state.messages.messages for call in getattr(message, "calls", ())]
    results = [message.call_id for message in at.state.messages.messages if isinstance(message, ToolMessage)]
    assert calls == results, "each call has one result, in order"


@settings(deadline=None)
@given(plans(), st.lists(st.sampled_from(ANSWERS), max_size=14))
def test_runs_that_fail_at_random_end_and_do_nothing_twice(plan: Plan, answers: list[Answer]) -> None:
    effects = list(performed(plan, answers))
    names = [""] + [each.name for each in plan.fallbacks]
    asked = [effect for effect in effects if isinstance(effect, SendRequest)]
    places = [names.index(effect.endpoint) for effect in asked]
    assert places == sorted(places), "no run goes back"
    ran = [effect for effect in effects if isinstance(effect, RunTool)]
    assert len({effect.key for effect in ran}) == len({effect.ref for effect in ran}) == len(ran)
    for effect in asked:
        signers = set(re.findall(r"signed-by-(\w+)", effect.request.body))
        assert signers <= {effect.request.model}, "a signature goes to nobody but who made it"
        assert effect.request.model == (effect.endpoint or "first")
