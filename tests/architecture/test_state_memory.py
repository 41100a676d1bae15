"""A state takes little more than what was said: sizes in bytes, which are nearly the same on any Python."""

from __future__ import annotations

import pytest

from benchmarks.core_growth import PLAN
from benchmarks.state_memory import deep_size, of_one, payload, reached, states

TURNS = 200
RESULT_BYTES = 40


@pytest.mark.parametrize(("varied", "most"), [(False, 1.25), (True, 1.75)])
def test_a_state_takes_little_more_than_its_messages(varied: bool, most: float) -> None:
    last = states(RESULT_BYTES, TURNS, varied=varied)[-1]
    assert of_one(last) <= most * payload(last)


@pytest.mark.parametrize("result_bytes", [40, 4_000])
def test_all_states_of_a_run_share_what_was_said(result_bytes: int) -> None:
    """A text is held by itself as long as it is among the newest, and in its block from then on."""
    kept = states(result_bytes, TURNS)
    beside = deep_size(*kept, known=reached(PLAN)) - 2 * payload(kept[-1])
    assert beside / TURNS <= 2_700
