"""Metrics as text for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Literal

Labels = Mapping[str, object]


class Durations:
    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """In each bucket, and at last above all bounds."""
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds


def metric_lines(
    name: str,
    kind: Literal["counter", "gauge", "histogram"],
    about: str,
    values: Iterable[tuple[Labels, object]],
) -> Iterator[str]:
    yield f"# HELP {name} {about}\n"
    yield f"# TYPE {name} {kind}\n"
    for labels, value in values:
        if isinstance(value, Durations):
            for bound, total in zip((*value.bounds, "+Inf"), accumulate(value.counts), strict=True):
                yield _sample_line(f"{name}_bucket", {**labels, "le": bound}, total)
            yield _sample_line(f"{name}_sum", labels, round(value.seconds, 6))
            yield _sample_line(f"{name}_count", labels, sum(value.counts))
        else:
            yield _sample_line(name, labels, value)


def _sample_line(name: str, labels: Labels, value: object) -> str:
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    pairs = ",".join(f'{label}="{str(text).translate(escapes)}"' for label, text in labels.items())
    return f"{name}{f'{{{pairs}}}' if pairs else ''} {value}\n"
