"""A contestant at work: a process that is given jobs and answers with what they cost."""

from __future__ import annotations

import json
import select
from types import TracebackType
from typing import Any, Self

from benchmarks.peers.contestant import Colour, Contestant
from benchmarks.peers.results import Imported, Sample
from benchmarks.peers.server import Server

__all__ = ["Broken", "Process"]

_IMPORTING = 180.0
"""Seconds that an import may take where the disk is cold."""
_SPARE = 300.0
"""Seconds after the limit of a job until its process is given up."""
_SHARE = 2.0
"""How often its limit of CPU time a job may take of wall time, on a machine that has more to do."""
_WARMING = 3
"""Turns of a run that nobody measures, so that what is loaded late is loaded."""


class Broken(Exception):
    """A contestant that does not do what it is told; the text says what happened."""


class Process:
    """One process of a contestant.

    :raises Broken: if it cannot be started, for example because a package is not there
    """

    def __init__(self, contestant: Contestant, colour: Colour, server: Server) -> None:
        environment = contestant.environment
        module = f"benchmarks.peers.{contestant.module}"
        command = [str(environment.interpreter), "-m", "benchmarks.peers.drive", module, colour]
        self._server, self._end = server, contestant.end
        self._process = environment.start(command, f"{contestant.id}.log")
        try:
            said = self._said(_IMPORTING)
            if "missing" in said:
                raise Broken(said["missing"])
            self.imported = Imported(**said)
            """What it took to import it."""
            self.measure(_WARMING, limit=_IMPORTING)
        except BaseException:
            self.stop()
            raise

    def measure(self, turns: int, *, limit: float, seconds: float = 0.0, at_once: int = 0) -> Sample:
        """Have it make runs of that many turns.

        :param limit: seconds of CPU after which they are ended, wherever they are; twice that of wall time
        :param seconds: of CPU, for which it begins one run after another; at least one is made
        :param at_once: how many it makes at the same time instead
        :raises Broken: if it ends early, hangs, or makes other runs than it was told to
        """
        server, number = self._server, next(self._server.jobs)
        job = {
            "base_url": server.base_url(number, turns, self._end),
            "cut_url": server.cut_url(number),
            "limit": limit,
            "patience": _SHARE * limit,
            "seconds": seconds,
            "at_once": at_once,
        }
        before = server.spent()
        try:
            print(json.dumps(job), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise Broken("its process has ended") from None
        said = self._said(_SHARE * limit + _SPARE)
        if "broken" in said:
            raise Broken(said["broken"])
        why = said.pop("why")
        after = server.spent()
        sample = Sample(**said, server=after.cpu - before.cpu)
        if sample.failed == sample.runs:
            raise Broken(f"all {sample.runs} runs failed: {why}")
        if not (sample.cut or sample.failed) and sample.turns != sample.runs * turns:
            raise Broken(f"made {sample.turns} turns in {sample.runs} runs of {turns}")
        return sample

    def _said(self, patience: float) -> dict[str, Any]:
        out = self._process.stdout
        if out is None or not select.select([out], [], [], patience)[0]:
            raise Broken(f"no answer within {patience:.0f} s")
        line = out.readline()
        if not line:
            raise Broken("its process has ended")
        return dict(json.loads(line))

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()
