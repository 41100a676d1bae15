"""A hundred sessions at once in one process, each with a cassette of its own."""

from __future__ import annotations

import pytest

from benchmarks.parallel_sessions import measured


@pytest.mark.parametrize("way", ["toolreel, threads", "toolreel, tasks"])
def test_sessions_that_are_recorded_and_replayed_at_once_lose_nothing_and_mix_nothing(way: str) -> None:
    found = measured(way, 100)
    assert (found.lost, found.mixed, found.failed) == (0, 0, 0)
