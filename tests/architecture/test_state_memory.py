"""A state takes little more than what was said: sizes in bytes, which are nearly the same on any Python."""

from __future__ import annotations

import sys

import pytest

from benchmarks.core_growth import PLAN
from benchmarks.state_memory import deep_size, of_one, payload, reached, states

TURNS = 200


@pytest.mark.parametrize(
    ("result_bytes", "varied", "most"),
    [
        (40, False, 1.6),
        (400, True, 2.0),
        # Short results of calls that are all different: an id, two digests and their places in two maps are
        # as long as what was said. The one case above the budget of twice the payload.
        (40, True, 2.6),
    ],
)
def test_a_state_takes_little_more_than_its_messages(result_bytes: int, varied: bool, most: float) -> None:
    last = states(result_bytes, TURNS, varied=varied)[-1]
    assert of_one(last) <= most * payload(last)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the figure is that of Python 3.11")
@pytest.mark.parametrize("result_bytes", [40, 4_000])
def test_all_states_of_a_run_share_what_was_said(result_bytes: int) -> None:
    """A text is held separately as long as it is among the newest, and in its block from then on.

    Of the bytes of a state, 16 are for images, audio and files, 8 for withheld tools, 24 for endpoints and
    its number.
    """
    kept = states(result_bytes, TURNS)
    beside = deep_size(*kept, known=reached(PLAN)) - 2 * payload(kept[-1])
    assert beside / TURNS <= 3_380
