"""The order in which things are measured: round by round, and in each round contestant by contestant.

What changes on the machine meanwhile touches all of them alike. Who is slow gets fewer rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.peers.contestant import Contestant
from benchmarks.peers.process import Broken, Process
from benchmarks.peers.results import Measured, Sample
from benchmarks.peers.server import Server

__all__ = ["AT_ONCE", "LENGTH", "TURNS", "Field", "Measuring"]

TURNS = (1, 10, 50, 200, 1_000)
"""Lengths of runs that are made one after another."""
AT_ONCE = (100, 1_000)
"""How many runs are made at the same time."""
LENGTH = 10
"""Turns of each of those."""
_SECONDS = 0.2
"""Of CPU, for which short runs are made one after another, for one sample."""
_ENOUGH = 6.0
"""Seconds of samples after which a contestant has no further rounds at a point."""

Field = Mapping[Contestant, Measured]
"""Who is measured, and what has been found so far."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """How much is measured."""

    rounds: int
    limit: float
    """Seconds of CPU after which runs one after another are ended."""
    limit_at_once: float
    """The same for runs at once."""
    turns: Sequence[int] = TURNS
    at_once: Sequence[int] = AT_ONCE

    def one_after_another(self, server: Server, field: Field) -> None:
        """Measure runs one after another; each contestant has one process for all of them."""
        with ExitStack() as stack:
            processes: dict[Contestant, Process] = {}
            for contestant, measured in field.items():
                with _reporting(measured):
                    processes[contestant] = process = stack.enter_context(
                        Process(contestant, contestant.one, server)
                    )
                    measured.imported.append(process.imported)
            for _ in range(self.rounds):
                for turns, contestant in self._left(self.turns, field):
                    samples = field[contestant].one.setdefault(turns, [])
                    with _reporting(field[contestant], f"{turns:,} turns"):
                        if _wanted(samples):
                            sample = processes[contestant].measure(turns, limit=self.limit, seconds=_SECONDS)
                            samples.append(_told(contestant, f"{turns} turns", sample))

    def at_the_same_time(self, server: Server, field: Field) -> None:
        """Measure runs at once; each sample has a process of its own, whose memory tells what they need."""
        for _ in range(self.rounds):
            for count, contestant in self._left(self.at_once, field):
                if contestant.many is None:
                    continue
                samples = field[contestant].many.setdefault(count, [])
                with _reporting(field[contestant], f"{count:,} at once"):
                    if _wanted(samples):
                        with Process(contestant, contestant.many, server) as process:
                            field[contestant].imported.append(process.imported)
                            sample = process.measure(LENGTH, limit=self.limit_at_once, at_once=count)
                            samples.append(_told(contestant, f"{count} at once", sample))

    @staticmethod
    def _left(points: Sequence[int], field: Field) -> Iterator[tuple[int, Contestant]]:
        """Each point with each contestant that is not broken."""
        for point in points:
            for contestant, measured in field.items():
                if not measured.broken:
                    yield point, contestant


def _wanted(samples: Sequence[Sample]) -> bool:
    """Whether there is time for one more."""
    return sum(sample.wall for sample in samples) < _ENOUGH


@contextmanager
def _reporting(measured: Measured, point: str = "") -> Generator[None]:
    """Who breaks is measured no further, and the table says why."""
    try:
        yield
    except Broken as error:
        measured.broken = f"{point}: {error}" if point else str(error)
        print(f"{measured.name}: {measured.broken}", file=sys.stderr)


def _told(contestant: Contestant, point: str, sample: Sample) -> Sample:
    cost = sample.cpu / sample.turns * 1e3
    cut = f"  cut: {sample.turns} turns in {sample.runs} runs" if sample.cut else ""
    print(f"{contestant.id:16} {point:14} {cost:9.3f} ms of CPU a turn {cut}", file=sys.stderr, flush=True)
    return sample
