"""Threads that take jobs one by one, and tell of those that have ended by the time somebody asks."""

from __future__ import annotations

from threading import Barrier, Event

from toolreel.evals import WorkerPool


def test_those_that_have_ended_meanwhile_come_together() -> None:
    """The first job goes on for long; the last one says that all between them have ended."""
    others_done, last = Barrier(2), Event()

    def run(job: int) -> int:
        if job == 0:
            last.wait()
        elif job == 9:
            others_done.wait()
        return job

    pool = WorkerPool(iter(range(10)), 2, run, Event())
    others_done.wait()
    found, _ = pool.next_ended()
    last.set()
    while len(found) < 10:
        found += pool.next_ended()[0]
    assert found[:8] == [*range(1, 9)]
    assert {*found} == {*range(10)}


def test_what_ended_before_an_error_is_told_too() -> None:
    def run(job: int) -> int:
        if job == 2:
            raise LookupError(job)
        return job

    pool, found, error = WorkerPool(iter(range(9)), 1, run, Event()), list[int](), None
    while not error:
        ended, error = pool.next_ended()
        found += ended
    assert found == [0, 1]
    assert isinstance(error, LookupError)
