"""A small HTTP server next to a worker for probes: ``/livez``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias

import sqlalchemy as sa
import uvicorn

from toolreel._internal import DurableError, Page, listening, page_app, server_config
from toolreel.durable._ledger import Ledger, Waits
from toolreel.durable._store.claims import now_ms
from toolreel.durable._store.database import RUNS, query_once

# https://prometheus.io/docs/instrumenting/exposition_formats/
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


Pages: TypeAlias = dict[str, Callable[[], Page]]
_CONNECTIONS: Final = 64
"""Probes at once, each of which has a thread."""
_KIND: Final = "text/plain; version=0.0.4; charset=utf-8"
"""As Prometheus has it."""


class HealthServer:
    """Answers GET requests for a few paths until it is closed.

    :param address: ``HOST:PORT``; port 0 takes a free one
    :param pages: what makes the answer, by path
    :raises DurableError: if the address is none, or is taken
    """

    def __init__(self, address: str, pages: Pages) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise DurableError(f"health: {address!r} is no address; write HOST:PORT, as 127.0.0.1:9090")
        try:
            self._socket = listening(host.strip("[]"), int(port))
        except OSError as error:
            raise DurableError(f"health: {address} cannot be used: {error.strerror or error}") from None

        def page(path: str, _query: str, _headers: object) -> Page:
            known = pages.get(path, lambda: Page(404, f"there is {', '.join(pages)}\n"))
            return known()._replace(kind=_KIND)

        self._server = uvicorn.Server(server_config(page_app(page), connections=_CONNECTIONS))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True, name="toolreel-health"
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Stop, and free the port."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


class Probes:
    """The pages of one worker.

    :param status: whether another worker has taken its slot, why it takes no runs, and how many it performs
    :param ports: where limits are looked for
    """

    def __init__(
        self, status: Callable[[], tuple[bool, str, int]], queue: str, engine: sa.Engine, ports: object
    ) -> None:
        self.performed = Performed()
        self._status, self._queue, self._engine, self._ports = status, queue, engine, ports

    @property
    def pages(self) -> Pages:
        """What makes each page."""
        return {"/livez": self._live, "/readyz": self._ready, "/metrics": self._metrics}

    def _live(self) -> Page:
        lost, _, _ = self._status()
        return Page(503, "another worker has taken the slot\n") if lost else Page(200, "alive\n")

    def _ready(self) -> Page:
        _, why, _ = self._status()
        if why:
            return Page(503, f"{why}\n")
        try:
            query_once(self._engine, sa.select(sa.literal(1)))
        except DurableError as error:
            return Page(503, f"{error}\n")
        return Page(200, "ready\n")

    def _metrics(self) -> Page:
        try:
            present = self._present()
        except DurableError as error:
            return Page(503, f"{error}\n")
        return Page(200, text(self._queue, present, self.performed))

    def _present(self) -> Present:
        counts: Any = sa.select(RUNS.c.queue, RUNS.c.status, sa.func.count()).group_by(
            RUNS.c.queue, RUNS.c.status
        )
        rows: Any = query_once(self._engine, counts)
        own = RUNS.c.queue == self._queue, RUNS.c.status == "queued"
        oldest = query_once(self._engine, sa.select(sa.func.min(RUNS.c.updated_at)).where(*own))[0][0]
        queued_for = 0.0 if oldest is None else max(0, now_ms() - oldest) / 1000
        waits = {ledger.limits.account: ledger.waits for ledger in _ledgers(self._ports)}
        by_status = {(str(queue), str(status)): int(number) for queue, status, number in rows}
        return Present(by_status, queued_for, self._status()[2], waits)


def _ledgers(port: object) -> Iterator[Ledger]:
    """The ledgers of limits in ports: in an endpoint, in what it wraps, and in fallbacks."""
    ledger = getattr(port, "ledger", None)
    if isinstance(ledger, Ledger):
        yield ledger
    for name in ("endpoint", "first"):
        if (inner := getattr(port, name, None)) is not None:
            yield from _ledgers(inner)
    for other in dict(getattr(port, "fallbacks", None) or {}).values():
        yield from _ledgers(other)
