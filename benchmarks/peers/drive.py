"""Runs in a contestant's environment: ``python -m benchmarks.peers.drive MODULE sync``, or ``async``.

It imports the module, says what that took, reads jobs, one a line, and answers each with what it cost.
A module has ``opened(base_url)``, ``aopened(base_url)`` or both: a context that makes whatever a program
makes once (client, agent, tools) and gives a function that makes one run and returns its final text.
Only the standard library is used, and as little of it as possible, since its memory and its import are
a contestant's too.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from benchmarks.peers.task import CUT, DONE, executions

__all__ = ["main"]

_LOOK = 0.1
"""Seconds between looks at what a job has taken."""


class Meter:
    """What it costs from here on."""

    def __init__(self) -> None:
        gc.collect()
        self.ended = self.cut = self.failed = 0
        self.why = ""
        self._executions = executions()
        self._peak = _peak()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far; on a busy machine they are long."""
        return time.process_time() - self._cpu

    def took(self, came: object) -> None:
        """A run ended: with its text, or with an exception."""
        self.ended += 1
        if came == CUT:
            self.cut += 1
        elif came != DONE:
            self.failed += 1
            self.why = f"{type(came).__name__}: {came}"[:200]

    def told(self) -> dict[str, object]:
        """The cost so far; a turn is a request, so a run has one more of them than calls."""
        cpu, wall, peak = self.cpu, time.perf_counter() - self._wall, _peak()
        return {
            "runs": self.ended,
            "turns": executions() - self._executions + self.ended,
            "cut": self.cut,
            "failed": self.failed,
            "why": self.why,
            "cpu": cpu,
            "wall": wall,
            "peak": peak,
            "more": peak - self._peak,
        }


@contextmanager
def _limited(job: dict[str, Any]) -> Generator[None]:
    """Have the server end the runs of a job when it has taken its CPU time, or its wall time."""
    wall, cpu, over = time.perf_counter() + job["patience"], time.process_time() + job["limit"], Event()

    def watch() -> None:
        while time.process_time() < cpu and time.perf_counter() < wall:
            if over.wait(_LOOK):
                return
        from urllib.request import urlopen  # noqa: PLC0415 - only for those that are cut

        urlopen(job["cut_url"], timeout=60).close()  # noqa: S310 - it is ours

    watching = Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def _peak() -> int:
    """Bytes of memory that this process has had at most."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def answer(module: Any, job: dict[str, Any]) -> dict[str, object]:  # noqa: ANN401 - each module is its own
    """Do a job: one run after another for some seconds of CPU, or that many in threads at once."""
    with module.opened(job["base_url"]) as run, _limited(job):
        if job["at_once"]:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only where it is measured

            with ThreadPoolExecutor(job["at_once"]) as pool:
                meter = Meter()
                for future in [pool.submit(run) for _ in range(job["at_once"])]:
                    meter.took(future.exception() or future.result())
                return meter.told()
        meter = Meter()
        while not meter.ended or meter.cpu < job["seconds"]:
            meter.took(run())
        return meter.told()


async def aanswer(module: Any, job: dict[str, Any]) -> dict[str, object]:  # noqa: ANN401
    """Do a job: one run after another for some seconds of CPU, or that many in tasks at once."""
    async with module.aopened(job["base_url"]) as run:
        with _limited(job):
            meter = Meter()
            if job["at_once"]:
                from asyncio import gather  # noqa: PLC0415 - who is not async does not pay for it

                for came in await gather(*(run() for _ in range(job["at_once"])), return_exceptions=True):
                    meter.took(came)
                return meter.told()
            while not meter.ended or meter.cpu < job["seconds"]:
                meter.took(await run())
            return meter.told()


def _jobs() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def _failure(error: BaseException) -> dict[str, object]:
    return {"broken": f"{type(error).__name__}: {error}"[:300]}


def _drive(module: Any, say: Callable[[object], None]) -> None:  # noqa: ANN401
    for job in _jobs():
        try:
            say(answer(module, job))
        except Exception as error:  # noqa: BLE001 - whatever a loop raises is its result
            say(_failure(error))


async def _adrive(module: Any, say: Callable[[object], None]) -> None:  # noqa: ANN401
    for job in _jobs():
        try:
            say(await aanswer(module, job))
        except Exception as error:  # noqa: BLE001
            say(_failure(error))


def main() -> None:
    """Import the contestant, and work off the jobs."""
    name, colour = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(told: object) -> None:
        print(json.dumps(told), file=out, flush=True)

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        say({"missing": str(error)})
        return
    say({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "peak": _peak()})
    if colour == "async":
        import asyncio  # noqa: PLC0415 - not before the import has been measured

        asyncio.run(_adrive(module, say))
    else:
        _drive(module, say)


if __name__ == "__main__":
    main()
