"""Threads that take jobs one by one, and tell of those that have ended by the time somebody asks."""

from __future__ import annotations

from threading import Event

import pytest

from toolreel.evals import ended_in_threads


def test_a_job_that_has_ended_is_told_while_another_goes_on() -> None:
    last = Event()

    def run(job: int) -> int:
        if job == 0:
            last.wait()
        return job

    ended = ended_in_threads(iter(range(10)), 2, run, Event())
    assert [next(ended) for _ in range(9)] == [*range(1, 10)]
    last.set()
    assert [*ended] == [0]


def test_what_ended_before_an_error_is_told_too() -> None:
    def run(job: int) -> int:
        if job == 2:
            raise LookupError(job)
        return job

    found = list[int]()
    ended = ended_in_threads(iter(range(9)), 1, run, Event())
    with pytest.raises(LookupError):
        found.extend(ended)
    assert found == [0, 1]
