"""Metrics as text for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Literal

Labels = Mapping[str, object]


class Durations:
    """How long things took, in buckets.

    :param bounds: seconds that a thing in each bucket takes at most
    """

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one more."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._seconds += seconds

    def samples(self, labels: Labels) -> Iterator[tuple[str, Labels, float]]:
        """The samples of a histogram."""
        totals = [*accumulate(self._counts)]
        for bound, total in zip((*self._bounds, "+Inf"), totals, strict=True):
            yield "_bucket", {**labels, "le": bound}, total
        yield "_sum", labels, round(self._seconds, 6)
        yield "_count", labels, totals[-1]


def metric(
    name: str, kind: Literal["counter", "gauge"], about: str, values: Iterable[tuple[Labels, float]]
) -> Iterator[str]:
    """The lines of a metric: a value for each set of labels."""
    yield from _family(name, kind, about, (("", labels, value) for labels, value in values))


def histogram(name: str, about: str, durations: Iterable[tuple[Labels, Durations]]) -> Iterator[str]:
    """The lines of a histogram for each set of labels."""
    samples = (sample for labels, each in durations for sample in each.samples(labels))
    yield from _family(name, "histogram", about, samples)


def _family(name: str, kind: str, about: str, samples: Iterable[tuple[str, Labels, float]]) -> Iterator[str]:
    yield f"# HELP {name} {about}\n"
    yield f"# TYPE {name} {kind}\n"
    for suffix, labels, value in samples:
        told = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
        yield f"{name}{suffix}{f'{{{told}}}' if told else ''} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
