from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given

from tests.samples import PLAN, worked
from tests.strategies import runs
from toolreel_core._conversation import Transcript
from toolreel_core._protocol import State, Step, Tally
from toolreel_core._replies import Usage


def test_the_finer_counts_are_added_up_too() -> None:
    usage = Usage(
        10, 8, None, reasoning_tokens=4, cached_tokens=6, prompt_audio_tokens=2, completion_audio_tokens=1
    )
    once = Tally(
        prompt_tokens=10,
        completion_tokens=8,
        cached_tokens=6,
        reasoning_tokens=4,
        prompt_audio_tokens=2,
        completion_audio_tokens=1,
        unpriced=1,
    )
    assert Tally().plus(usage) == once
    assert once.plus(usage).since(once) == once
    assert once.counted(turns=1) == replace(once, turns=1)


@pytest.mark.parametrize(
    ("costs", "known"), worked("a cost is known if that of every reply is", "runs-and-plans")
)
def test_a_cost_is_known_if_that_of_every_reply_is(costs: list[float | None], known: float | None) -> None:
    tally = Tally()
    for cost in costs:
        tally = tally.plus(Usage(10, 4, cost))
    assert tally.known_cost == known


@given(runs())
def test_a_ref_is_never_given_twice(steps: tuple[Step, ...]) -> None:
    refs = [ref for step in steps for effect in step.effects if (ref := getattr(effect, "ref", None))]
    assert refs == list(range(1, steps[-1].state.next_ref))


@given(runs())
def test_history_only_grows_and_is_that_of_its_messages(steps: tuple[Step, ...]) -> None:
    histories = [list(step.state.messages.messages) for step in steps]
    for earlier, later in pairwise(histories):
        assert later[: len(earlier)] == earlier
    last = steps[-1].state
    assert last.messages == Transcript.of(histories[-1], last.plan.form, kept=last.messages.kept)


def test_the_tally_of_an_exchange_is_what_was_counted_since_it_began() -> None:
    early = Tally(1, 2, 3, 4, 5, 6, 0.5, 70)
    late = Tally(2, 4, 6, 8, 10, 12, 1.25, 100)
    assert late.since(early) == Tally(1, 2, 3, 4, 5, 6, 0.75, 30)
    state = replace(State.idle(PLAN), tally=late)
    assert state.exchange_tally == late
    assert replace(state, exchange_began=early).exchange_tally == Tally(1, 2, 3, 4, 5, 6, 0.75, 30)
