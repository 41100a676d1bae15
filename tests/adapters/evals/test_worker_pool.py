"""Threads that take jobs one by one, and tell of those that have ended by the time somebody asks."""

from __future__ import annotations

from threading import Barrier, Event

import pytest

from toolreel.evals import ended_in_threads


def test_those_that_have_ended_meanwhile_come_together() -> None:
    """The first job goes on for long; the last one says that all between them have ended."""
    others_done, last = Barrier(2), Event()

    def run(job: int) -> int:
        if job == 0:
            last.wait()
        elif job == 9:
            others_done.wait()
        return job

    ended = ended_in_threads(iter(range(10)), 2, run, Event())
    found = next(ended)  # the generator begins the threads
    others_done.wait()
    last.set()
    assert {*found, *(each for several in ended for each in several)} == {*range(10)}


def test_what_ended_before_an_error_is_told_too() -> None:
    def run(job: int) -> int:
        if job == 2:
            raise LookupError(job)
        return job

    found = list[int]()
    ended = ended_in_threads(iter(range(9)), 1, run, Event())
    with pytest.raises(LookupError):
        [*map(found.extend, ended)]
    assert found == [0, 1]
