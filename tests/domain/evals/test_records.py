from __future__ import annotations

from tests.evals.made import record


def test_the_time_of_a_run_is_that_of_all_its_attempts() -> None:
    assert record(ms=(100, 40)).ms == 140
    assert record(ms=()).ms == 0
