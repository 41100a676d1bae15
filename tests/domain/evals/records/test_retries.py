from __future__ import annotations

import pytest

from toolreel_core.evals._records.retries import ConcurrencyLimit, Retries, remaining_retries, retry_delay_ms
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


def test_it_begins_wide_open_and_never_goes_beyond_that() -> None:
    limiter = ConcurrencyLimit.of(3)
    assert limiter.may_send(2, 0)
    assert not limiter.may_send(3, 0)
    assert limiter.succeeded(0).limit == 3


def test_an_episode_of_refusals_costs_a_fifth_however_many_requests_it_hits() -> None:
    limiter = ConcurrencyLimit.of(10)
    for now in (0, 100, 4_900):
        limiter = limiter.rate_limited(now, None)
    assert limiter.limit == 8
    assert limiter.rate_limited(5_000, None).limit == 6.4


def test_nothing_goes_out_before_the_server_wants_it_again() -> None:
    limiter = ConcurrencyLimit.of(10).rate_limited(1_000, 30_000).rate_limited(2_000, 1_000)
    assert not limiter.may_send(0, 30_999)
    assert limiter.may_send(0, 31_000)
    assert limiter.rate_limited(30_500, None).limit == 8, "what the server asks for is one episode"


def test_one_request_may_always_go_out() -> None:
    limiter = ConcurrencyLimit.of(1)
    for episode in range(5):
        limiter = limiter.rate_limited(episode * 60_000, None)
    assert limiter.limit == 1
    assert limiter.may_send(0, 600_000)


def test_it_grows_by_one_for_each_round_that_goes_well() -> None:
    limiter = ConcurrencyLimit.of(10).rate_limited(0, None).rate_limited(10_000, None)
    before = limiter.limit
    for _ in range(int(before)):
        limiter = limiter.succeeded(20_000)
    assert before + 0.8 < limiter.limit <= before + 1


def test_nothing_grows_while_the_server_fails() -> None:
    limiter = ConcurrencyLimit.of(10).rate_limited(0, None).server_failed(20_000)
    assert limiter.succeeded(29_999).limit == 8
    assert limiter.succeeded(30_000).limit > 8
