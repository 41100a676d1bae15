"""A turn costs the same at any length of the conversation: counted, since times depend on the machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator

import pytest

from benchmarks.core_growth import after, calls

TURNS = 16
MOST = 1_180
"""Python and C calls of a turn; jsonschema, which plain arguments do not need, would make 180 more. About 30
are the checks of messages where they are made."""


@pytest.fixture(autouse=True)
def nobody_else_counts() -> Generator[None]:
    """Collecting garbage could call what others have left, and a profiler may be there already."""
    profiler = sys.getprofile()
    gc.disable()
    yield
    gc.enable()
    sys.setprofile(profiler)


def test_a_turn_makes_as_many_calls_after_a_hundred_turns_as_after_ten() -> None:
    early, late = (calls(*after(length), TURNS) for length in (10, 100))
    assert late <= 1.05 * early


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the figure is that of Python 3.11")
def test_a_turn_makes_no_more_calls_than_it_may() -> None:
    assert calls(*after(10), TURNS) / TURNS <= MOST
