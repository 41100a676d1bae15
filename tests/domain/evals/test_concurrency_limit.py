from __future__ import annotations

from toolreel_core.evals import ConcurrencyLimit


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
