"""Long conversations with summaries: whatever is said and however the model answers.

No request exceeds the window, nothing is lost from what is stored, and the record alone tells the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolreel_core._conversation import UserMessage, is_summary
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import fold, pending, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    AwaitingReply,
    Event,
    Finish,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    Settled,
    State,
    Step,
    ToolReturned,
    UserSpoke,
    Wait,
    WaitElapsed,
    dump,
    fingerprint,
    load_event,
    load_state,
)
from toolreel_core._settings import LoopConfig, Provider, estimate_tokens_by_bytes
from toolreel_core._tools import ToolDefinition

OTHERS = ("shorten_old_tool_results", "drop_old_tool_turns", "keep_newest_turns")
LENGTHS = st.integers(0, 200) | st.integers(0, 2_000)
TEXTS = st.builds(lambda letter, length: letter * length, st.sampled_from(["x", "é ", 'a\n"', "> "]), LENGTHS)
CALL: Json = {"id": "call_a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
PLANS = st.builds(
    lambda window, policies, turns, provider, stream: Plan.of(
        model="m",
        messages="What is it?",
        tools=[ToolDefinition("ping")],
        config=LoopConfig(
            context_window_tokens=window,
            history_policies=policies,
            max_turns=turns,
            repetition_warn=None,
            repetition_stop=None,
            stream=stream,
        ),
        provider=provider,
    ),
    st.integers(600, 1_500),
    st.permutations(OTHERS).flatmap(
        lambda others: st.integers(0, 2).map(lambda at: (*others[:at], "summarize_old_turns", *others[at:2]))
    ),
    st.integers(2, 6),
    st.sampled_from(
        [
            Provider(),
            Provider(reasoning_replay="current_turn", special_token_guard=True),
            Provider(assistant_after_tool=True, id_style="openai"),
        ]
    ),
    st.sampled_from(["never", "always"]),
)


def body_of(message: Json, finish: str = "stop") -> str:
    return canonical({"choices": [{"message": message, "finish_reason": finish}]})


BODIES = (
    TEXTS.map(lambda text: body_of({"content": f"So: {text}"}))
    | st.just(body_of({"content": None, "tool_calls": [CALL]}, "tool_calls"))
    | st.just(body_of({"content": "A short summary."}))
    | st.just(body_of({"content": "A short summary."}))
    | st.just(body_of({"content": "Half"}, "length"))
    | st.just(body_of({"content": ""}))
    | st.just(canonical({"error": {"code": 503, "message": "busy"}}))
)


@dataclass
class Conversation:
    """A conversation so far, and the events that led there."""

    plan: Plan
    at: Step
    events: list[Event] = field(default_factory=list)
    emitted: list[str] = field(default_factory=list)
    asked: int = 0
    """Summaries in a row that were asked for since the user spoke, not counting retries."""

    def take(self, event: Event) -> None:
        before = self.at.state
        self.at = step(before, event)
        self.events.append(event)
        self.asked = 0 if isinstance(event, UserSpoke) else self.asked
        # A process that was killed goes on from what it had stored, with the event that it had not.
        assert step(load_state(dump(before)), load_event(dump(event))) == self.at
        self.check_history(before)
        for effect in self.at.effects:
            self.emitted.append(fingerprint(effect))
            if isinstance(effect, SendRequest):
                self.check_request(effect, self.at.state)

    def check_history(self, before: State) -> None:
        stored = [*before.messages.messages]
        after = [*self.at.state.messages.messages]
        assert after[: len(stored)] == stored
        assert not any(map(is_summary, after))
        outgoing = [*self.at.state.messages.outgoing]
        assert sum(map(is_summary, outgoing)) <= 1
        assert outgoing[0] == stored[0]
        if not isinstance(self.at.state.phase, Settled):
            assert pending(load_state(dump(self.at.state))) == pending(self.at.state)

    def check_request(self, effect: SendRequest, state: State) -> None:
        limit = state.plan.config.context_window_tokens
        assert limit is not None
        messages = effect.request.messages
        assert (
            sum(map(estimate_tokens_by_bytes, messages.texts))
            + estimate_tokens_by_bytes(effect.request.options.text)
            <= limit
        )
        assert isinstance(state.phase, AwaitingReply)
        assert effect.purpose == state.phase.purpose
        is_new = effect.purpose == "summary" and state.phase.attempt == 1
        self.asked = self.asked + 1 if is_new else self.asked * (effect.purpose == "summary")
        assert self.asked <= 1
        if effect.purpose == "summary":
            assert not effect.request.streamed
            assert [type(message) for message in messages.messages] == [UserMessage]


def answer(effect: Any, data: st.DataObject) -> Event:  # noqa: ANN401 - any effect
    match effect:
        case SendRequest():
            if data.draw(st.integers(0, 7)) == 0:
                return RequestFailed(effect.ref, "timeout", "too slow")
            return ReplyReceived(effect.ref, 200, data.draw(BODIES))
        case RunTool():
            return ToolReturned(effect.ref, canonical({"text": data.draw(TEXTS)}))
        case Wait():
            return WaitElapsed(effect.ref)
        case Finish():
            return UserSpoke(f"And now? {data.draw(TEXTS)}")
        case _:
            raise AssertionError(effect)


@settings(max_examples=25, deadline=None)
@given(PLANS, st.data())
def test_a_long_conversation_fits_its_window_and_is_told_by_its_record(
    plan: Plan, data: st.DataObject
) -> None:
    begun = start(plan)
    conversation = Conversation(plan, begun, [], [fingerprint(effect) for effect in begun.effects])
    for _ in range(20):
        (effect,) = pending(conversation.at.state) or conversation.at.effects
        conversation.take(answer(effect, data))
    assert fold(plan, conversation.events) == conversation.at
    emitted, at = [fingerprint(effect) for effect in begun.effects], begun
    for event in conversation.events:
        at = step(at.state, load_event(dump(event)))
        emitted += map(fingerprint, at.effects)
    assert emitted == conversation.emitted
