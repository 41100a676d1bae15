from __future__ import annotations

from tests.evals.made import record
from toolreel_core.evals._records.record import VERSION, SentRequest


def test_the_time_of_a_run_is_that_of_all_its_attempts() -> None:
    assert record(ms=(100, 40)).ms == 140
    assert record(ms=()).ms == 0


def test_what_nobody_told_of_a_request_is_unknown() -> None:
    assert SentRequest(1, 11, 200).cost is None
    assert VERSION == 1
