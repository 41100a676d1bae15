"""The metrics of a worker and of its database, as Prometheus reads them.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, NamedTuple

from toolreel.durable._ledger import Waits

BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds that an effect takes at most, for each bucket."""


@dataclass(slots=True)
class _Taken:
    """How long the effects of one kind took."""

    counts: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    """How many took at most so long, for each bound."""
    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds
        for at, bound in enumerate(BOUNDS):
            self.counts[at] += seconds <= bound


class Performed:
    """Counts what a worker performs; told by its threads."""

    def __init__(self) -> None:
        self._taken: dict[str, _Taken] = {}
        self._lock = Lock()

    def see(self, happened: Mapping[str, object]) -> None:
        """Count an effect, if it is one: what users say takes no time."""
        ms = happened.get("ms")
        if isinstance(ms, int):
            with self._lock:
                self._taken.setdefault(str(happened["kind"]), _Taken()).add(ms / 1000)

    def lines(self) -> Iterator[str]:
        """The histogram of durations by kind of effect; its counts are those of effects performed."""
        name = "toolreel_effect_seconds"
        yield f"# HELP {name} How long effects took that this worker performed, by kind."
        yield f"# TYPE {name} histogram"
        with self._lock:
            for kind, taken in sorted(self._taken.items()):
                for bound, count in zip((*BOUNDS, "+Inf"), (*taken.counts, taken.count), strict=True):
                    yield f'{name}_bucket{{kind="{kind}",le="{bound}"}} {count}'
                yield f'{name}_sum{{kind="{kind}"}} {taken.seconds:.3f}'
                yield f'{name}_count{{kind="{kind}"}} {taken.count}'


class Present(NamedTuple):
    """What holds at the moment that somebody asks."""

    runs: Mapping[tuple[str, str], int]
    """How many runs of the database, by queue and status."""
    oldest_queued: float
    """For how many seconds the oldest queued run of the worker's queue is queued; 0 if none is."""
    busy: int
    """Runs that the worker is performing."""
    waits: Mapping[str, Waits]
    """Waits for limits, by account."""


def text(queue: str, present: Present, performed: Performed) -> str:
    """All metrics, one a line."""
    return "".join(f"{line}\n" for line in (*_present(queue, present), *performed.lines()))


def _present(queue: str, present: Present) -> Iterator[str]:
    by_status = [
        (f'queue="{_escaped(of)}",status="{status}"', count)
        for (of, status), count in sorted(present.runs.items())
    ]
    own = f'queue="{_escaped(queue)}"'
    waits = [(f'account="{_escaped(account)}"', each) for account, each in sorted(present.waits.items())]
    yield from _metric("toolreel_runs", "gauge", "Runs in the database.", by_status)
    length = present.runs.get((queue, "queued"), 0)
    yield from _metric(
        "toolreel_queue_length", "gauge", "Runs that wait for a worker of this queue.", [(own, length)]
    )
    yield from _metric(
        "toolreel_queue_oldest_seconds",
        "gauge",
        "For how long the oldest of them is queued.",
        [(own, round(present.oldest_queued, 3))],
    )
    yield from _metric(
        "toolreel_worker_runs", "gauge", "Runs that this worker is performing.", [(own, present.busy)]
    )
    yield from _metric(
        "toolreel_limit_waits_total",
        "counter",
        "Requests of this worker that waited for their turn within limits, refused ones included.",
        [(labels, each.count) for labels, each in waits],
    )
    yield from _metric(
        "toolreel_limit_wait_seconds_total",
        "counter",
        "For how long they waited.",
        [(labels, round(each.seconds, 3)) for labels, each in waits],
    )


def _metric(name: str, kind: str, what: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield f"{name}{{{labels}}} {value}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
