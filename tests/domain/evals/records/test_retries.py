from __future__ import annotations

import pytest

from toolreel_core.evals._records.retries import Tries, tried_again, wait_ms
from toolreel_core.evals._verdicts.verdict import Result, Verdict


@pytest.mark.parametrize(
    "category",
    [
        "transport.rate_limit",
        "transport.timeout",
        "transport.connection",
        "transport.upstream_5xx",
        "transport.decode",
    ],
)
def test_what_may_be_over_soon_is_tried_again(category: str) -> None:
    assert tried_again(Verdict("void", category), "", Tries(1, 2)) == Tries(1, 1)
    assert tried_again(Verdict("void", category), "", Tries(1, 0)) is None


@pytest.mark.parametrize("category", ["transport.auth", "transport.payment", "loop.budget"])
def test_what_will_not_be_over_soon_is_not(category: str) -> None:
    assert tried_again(Verdict("void", category), "", Tries()) is None


def test_a_model_that_said_nothing_is_asked_again_once() -> None:
    silent = Verdict("fail", "task.outcome:final")
    assert tried_again(silent, " \n", Tries(1, 3)) == Tries(0, 3)
    assert tried_again(silent, "", Tries(0, 3)) is None


def test_what_ended_for_another_reason_is_not_asked_again() -> None:
    assert tried_again(Verdict("fail", "loop.max_turns"), "", Tries()) is None


def test_a_wrong_answer_is_an_answer() -> None:
    assert tried_again(Verdict("fail", "task.outcome:final"), "No.", Tries()) is None


@pytest.mark.parametrize("result", ["pass", "pass_unexercised", "unsupported"])
def test_what_did_not_fail_is_not_tried_again(result: Result) -> None:
    assert tried_again(Verdict(result), "", Tries()) is None


def test_waits_grow_up_to_a_minute_and_are_as_long_as_the_server_asks_for() -> None:
    assert [wait_ms(n, None) for n in (1, 2, 3, 7, 8)] == [1_000, 2_000, 4_000, 60_000, 60_000]
    assert wait_ms(3, 1_500) == 4_000
    assert wait_ms(1, 20_000) == 20_000
    assert wait_ms(1, 900_000) == 60_000
