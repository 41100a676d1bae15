from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histories, providers
from toolreel_core._conversation import (
    HISTORY_POLICIES,
    AssistantMessage,
    Message,
    SentCall,
    ToolMessage,
    UserMessage,
)
from toolreel_core._jsontext import NOTHING, canonical
from toolreel_core._loop import estimated_tokens, fit_history, overflow
from toolreel_core._plan import Plan, RequestOptions
from toolreel_core._protocol import HistoryShortened, State
from toolreel_core._settings import LoopConfig, Provider


def options(size: int) -> RequestOptions:
    """Options of this many bytes."""
    text = canonical({"user": "x" * (size - len('{"user":""}'))})
    assert len(text) == size
    return RequestOptions(text)


def test_the_result_that_a_call_lacks_takes_room_too() -> None:
    calling = AssistantMessage("", (SentCall("t", "f", "{}"),))
    plan = Plan.of(model="m", messages=[calling], config=LoopConfig(context_window_tokens=9))
    missing = len(State.idle(plan).messages.complete().texts[1].encode())
    over = overflow(State.idle(plan), options(12))
    assert over is not None
    assert over.estimate == estimated_tokens(State.idle(plan), options(12)) == 30 + -(-missing // 4) + 3
    assert over.largest[0] == f"message 1 (tool): {missing} bytes"


HI = UserMessage("hi")
NO_OPTIONS = RequestOptions(NOTHING)


def run_context_window(
    messages: Sequence[Message], window: int | None, *policies: str, provider: Provider | None = None
) -> State:
    """A run_context_window at its start, with this conversation and this window."""
    config = LoopConfig(context_window_tokens=window, history_policies=policies)
    return State.idle(Plan("m", (*messages,), config=config, provider=provider or Provider()))


def turn(call_id: str, result: str = "r" * 400, **extras: str) -> tuple[Message, ...]:
    """A call with its result."""
    call = SentCall(call_id, "read", "{}")
    return AssistantMessage("", (call,), canonical(extras)), ToolMessage(call_id, result)


LONG = (HI, *turn("a"), *turn("b"), *turn("c"), *turn("d"))
TOKENS = run_context_window(LONG, 9999).messages.tokens


def test_old_turns_go_until_a_quarter_of_the_room_is_free_and_stay_stored() -> None:
    state = run_context_window(LONG, TOKENS, "drop_old_tool_turns")
    after, notes = fit_history(state, NO_OPTIONS)
    kept = [HI, *turn("c"), *turn("d")]
    assert list(after.messages.outgoing) == kept
    assert tuple(after.messages.messages) == LONG
    assert notes == (HistoryShortened(1, ("drop_old_tool_turns",), 9, 5, TOKENS, after.messages.tokens),)
    assert after.messages.tokens <= TOKENS * 3 // 4
    assert after == replace(state, messages=state.messages.shortened(kept))


def test_the_policies_that_took_something_away_are_named_in_their_order() -> None:
    policies = ("shorten_old_tool_results", "drop_old_tool_turns", "keep_newest_turns")
    tight, (note,) = fit_history(run_context_window(LONG, TOKENS // 3, *policies), NO_OPTIONS)
    assert note.policies == policies[:2]
    assert estimated_tokens(tight, NO_OPTIONS) <= TOKENS // 3


@pytest.mark.parametrize("replay", ["never", "current_turn"])
def test_reasoning_that_does_not_go_out_is_no_saving(replay: str) -> None:
    thoughts = [message for each in "abcd" for message in turn(each, "r" * 80, reasoning="Hm." * 999)]
    provider = Provider.of({"reasoning_replay": replay})
    state = run_context_window([HI, *thoughts, HI], 150, "drop_old_tool_turns", provider=provider)
    assert 150 < state.messages.tokens < 400
    after, (note,) = fit_history(state, NO_OPTIONS)
    assert note.policies == ("drop_old_tool_turns",)
    assert estimated_tokens(after, NO_OPTIONS) <= 150


@given(
    histories.filter(bool),
    providers,
    st.integers(1, 200),
    st.lists(st.sampled_from([*HISTORY_POLICIES]), unique=True),
)
def test_shortening_ends_and_leaves_less_to_go_out_and_all_of_it_stored(
    history: list[Message], provider: Provider, window: int, policies: list[str]
) -> None:
    taking = replace(provider, supports_images="yes", supports_audio="yes", supports_files="yes")
    state = run_context_window(history, window, *policies, provider=taking)
    after, notes = fit_history(state, NO_OPTIONS)
    assert list(after.messages.messages) == history
    assert (notes == ()) is (after == state)
    for note in notes:
        assert (note.tokens_before, note.tokens_after) == (state.messages.tokens, after.messages.tokens)
        assert note.tokens_after < note.tokens_before
        assert set(note.policies) <= set(policies)
        assert (note.messages_before, note.messages_after) == (len(history), len(after.messages.outgoing))
