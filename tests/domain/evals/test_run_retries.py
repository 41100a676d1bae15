from __future__ import annotations

import pytest

from toolreel_core.evals import Result, Retries, Verdict, remaining_retries, retry_delay_ms


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
    assert remaining_retries(Verdict("void", category), "", Retries(1, 2)) == Retries(1, 1)
    assert remaining_retries(Verdict("void", category), "", Retries(1, 0)) is None


@pytest.mark.parametrize("category", ["transport.auth", "transport.payment", "loop.budget"])
def test_what_will_not_be_over_soon_is_not(category: str) -> None:
    assert remaining_retries(Verdict("void", category), "", Retries()) is None


def test_a_model_that_said_nothing_is_asked_again_once() -> None:
    silent = Verdict("fail", "task.outcome:final")
    assert remaining_retries(silent, " \n", Retries(1, 3)) == Retries(0, 3)
    assert remaining_retries(silent, "", Retries(0, 3)) is None


def test_what_ended_for_another_reason_is_not_asked_again() -> None:
    assert remaining_retries(Verdict("fail", "loop.max_turns"), "", Retries()) is None


def test_a_wrong_answer_is_an_answer() -> None:
    assert remaining_retries(Verdict("fail", "task.outcome:final"), "No.", Retries()) is None


@pytest.mark.parametrize("result", ["pass", "pass_unexercised", "unsupported"])
def test_what_did_not_fail_is_not_tried_again(result: Result) -> None:
    assert remaining_retries(Verdict(result), "", Retries()) is None


def test_waits_grow_up_to_a_minute_and_are_as_long_as_the_server_asks_for() -> None:
    assert [retry_delay_ms(n, None) for n in (1, 2, 3, 7, 8)] == [1_000, 2_000, 4_000, 60_000, 60_000]
    assert retry_delay_ms(3, 1_500) == 4_000
    assert retry_delay_ms(1, 20_000) == 20_000
    assert retry_delay_ms(1, 900_000) == 60_000
