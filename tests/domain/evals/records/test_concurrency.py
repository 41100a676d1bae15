from __future__ import annotations

from toolreel_core.evals._records.concurrency import Limiter


def test_it_begins_wide_open_and_never_goes_beyond_that() -> None:
    limiter = Limiter.of(3)
    assert limiter.may_send(2, 0)
    assert not limiter.may_send(3, 0)
    assert limiter.went_well(0).limit == 3


def test_an_episode_of_refusals_costs_a_fifth_however_many_requests_it_hits() -> None:
    limiter = Limiter.of(10)
    for now in (0, 100, 4_900):
        limiter = limiter.refused(now, None)
    assert limiter.limit == 8
    assert limiter.refused(5_000, None).limit == 6.4


def test_nothing_goes_out_before_the_server_wants_it_again() -> None:
    limiter = Limiter.of(10).refused(1_000, 30_000).refused(2_000, 1_000)
    assert not limiter.may_send(0, 30_999)
    assert limiter.may_send(0, 31_000)
    assert limiter.refused(30_500, None).limit == 8, "what the server asks for is one episode"


def test_one_request_may_always_go_out() -> None:
    limiter = Limiter.of(1)
    for episode in range(5):
        limiter = limiter.refused(episode * 60_000, None)
    assert limiter.limit == 1
    assert limiter.may_send(0, 600_000)


def test_it_grows_by_one_for_each_round_that_goes_well() -> None:
    limiter = Limiter.of(10).refused(0, None).refused(10_000, None)
    before = limiter.limit
    for _ in range(int(before)):
        limiter = limiter.went_well(20_000)
    assert before + 0.8 < limiter.limit <= before + 1


def test_nothing_grows_while_the_server_fails() -> None:
    limiter = Limiter.of(10).refused(0, None).server_failed(20_000)
    assert limiter.went_well(29_999).limit == 8
    assert limiter.went_well(30_000).limit > 8
