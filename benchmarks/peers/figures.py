"""What the samples show: medians over the rounds, and ratios of samples of the same round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.peers.measuring import LENGTH
from benchmarks.peers.results import Measured, Sample

__all__ = [
    "Figure",
    "Ratio",
    "cpu_a_turn",
    "import_cpu",
    "more_memory",
    "peak",
    "ratio",
    "runs_a_second",
    "wall_a_turn",
]


@dataclass(frozen=True, slots=True)
class Figure:
    """A median."""

    value: float
    cut_at: int | None = None
    """The number of turns that a run had got to when the limit of time ended it, if it did."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How often one contestant's cost is another's."""

    value: float
    at_least: bool = False
    """Whether the dearer one was cut: a whole run costs more a turn than its beginning."""


def _figure(samples: Sequence[Sample], of: Callable[[Sample], float]) -> Figure | None:
    if not samples:
        return None
    cut = [sample.turns // sample.runs for sample in samples if sample.cut]
    return Figure(median(of(sample) for sample in samples), min(cut) if cut else None)


def cpu_a_turn(measured: Measured, turns: int) -> Figure | None:
    """Milliseconds of CPU for a turn of runs of that length."""
    return _figure(measured.one.get(turns, ()), _cpu)


def wall_a_turn(measured: Measured, turns: int) -> Figure | None:
    """Milliseconds for a turn of runs of that length."""
    return _figure(measured.one.get(turns, ()), lambda sample: sample.wall / sample.turns * 1e3)


def runs_a_second(measured: Measured, count: int) -> Figure | None:
    """Runs of ten turns for a second of CPU, of that many at once; what was cut counts as far as it got."""
    return _figure(measured.many.get(count, ()), lambda sample: sample.turns / LENGTH / sample.cpu)


def more_memory(measured: Measured, count: int) -> Figure | None:
    """Mebibytes that this many runs at once need in addition to what the process had before."""
    return _figure(measured.many.get(count, ()), lambda sample: sample.more / 2**20)


def peak(measured: Measured, turns: int) -> Figure | None:
    """Mebibytes that the process has had at most, after runs of that length and all shorter ones."""
    return _figure(measured.one.get(turns, ())[:1], lambda sample: sample.peak / 2**20)


def import_cpu(measured: Measured) -> float:
    """Milliseconds of CPU to import it, when the disk has been read."""
    return median(sorted(imported.cpu for imported in measured.imported)) * 1e3


def ratio(dear: Measured, cheap: Measured, turns: int) -> Ratio | None:
    """How often the CPU time of one is that of another, over the rounds that both have."""
    pairs = [*zip(dear.one.get(turns, ()), cheap.one.get(turns, ()), strict=False)]
    if not pairs:
        return None
    return Ratio(median(_cpu(one) / _cpu(other) for one, other in pairs), any(one.cut for one, _ in pairs))


def _cpu(sample: Sample) -> float:
    return sample.cpu / sample.turns * 1e3
