"""Threads that take jobs one by one, and tell of those that have ended by the time somebody asks."""

from __future__ import annotations

import gc
import signal
from threading import Event

import pytest

from tests.patience import HANG
from toolreel.evals import run_in_threads


def test_a_job_that_has_ended_is_told_while_another_goes_on() -> None:
    last = Event()

    def run(job: int) -> int:
        if job == 0:
            last.wait()
        return job

    ended = run_in_threads(iter(range(10)), 2, run, Event())
    assert [next(ended) for _ in range(9)] == [*range(1, 10)]
    last.set()
    assert [*ended] == [0]


def test_what_ended_before_an_error_is_told_too() -> None:
    def run(job: int) -> int:
        if job == 2:
            raise LookupError(job)
        return job

    found = list[int]()
    ended = run_in_threads(iter(range(9)), 1, run, Event())
    with pytest.raises(LookupError):
        found.extend(ended)
    assert found == [0, 1]


def test_a_signal_that_does_not_wake_the_waiting_thread_is_answered() -> None:
    """As Ctrl-C is that comes between the last look at signals and the wait for a run."""
    last = Event()

    def run(job: int) -> int:
        signal.raise_signal(signal.SIGINT)  # to this thread: the one that waits sleeps on
        last.wait(HANG)
        return job

    # Hypothesis measures collections of garbage in a callback of Python's, and what is raised there is lost.
    gc.disable()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(run_in_threads(iter(range(1)), 1, run, Event()))
    finally:
        gc.enable()
        last.set()
