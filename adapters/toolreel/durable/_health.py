"""A small HTTP server next to a worker for probes: ``/livez``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import sqlalchemy as sa
import uvicorn

from toolreel._internal import (
    DurableError,
    Durations,
    Page,
    listening,
    metric,
    page_app,
    server_config,
)
from toolreel.durable._database import RUNS, query_once
from toolreel.durable._store import now_ms

_BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds that an effect takes at most, for each bucket."""
_CONNECTIONS: Final = 64
"""Probes at once, each of which has a thread."""
_KIND: Final = "text/plain; version=0.0.4; charset=utf-8"
"""As Prometheus has it."""


class HealthServer:
    """Answers the probes of one worker until it is closed.

    :param address: ``HOST:PORT``; port 0 takes a free one
    :param status: whether another worker has taken its slot, why it takes no runs, and how many it performs
    :raises DurableError: if the address is none, or is taken
    """

    def __init__(
        self,
        address: str,
        status: Callable[[], tuple[bool, str, int]],
        queue: str,
        engine: sa.Engine,
    ) -> None:
        self._status, self._queue, self._engine = status, queue, engine
        self._performed: dict[str, Durations] = {}
        """How long the effects of each kind took."""
        self._lock = threading.Lock()
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise DurableError(f"health: {address!r} is no address; write HOST:PORT, as 127.0.0.1:9090")
        try:
            self._socket = listening(host.strip("[]"), int(port))
        except OSError as error:
            raise DurableError(f"health: {address} cannot be used: {error.strerror or error}") from None
        self._server = uvicorn.Server(server_config(page_app(self._page), connections=_CONNECTIONS))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True, name="toolreel-health"
        )
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def count_effect(self, happened: Mapping[str, object]) -> None:
        """Count an effect, if it is one: what users say takes no time. The threads of runs call it."""
        if isinstance(ms := happened.get("ms"), int):
            with self._lock:
                self._performed.setdefault(str(happened["kind"]), Durations(_BOUNDS)).add(ms / 1000)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _page(self, path: str, _query: str, _headers: object) -> Page:
        is_lost, why, busy = self._status()
        try:
            match path:
                case "/livez":
                    code, text = (503, "another worker has taken the slot\n") if is_lost else (200, "alive\n")
                case "/readyz" if why:
                    code, text = 503, f"{why}\n"
                case "/readyz":
                    query_once(self._engine, sa.select(sa.literal(1)))
                    code, text = 200, "ready\n"
                case "/metrics":
                    code, text = 200, self._metrics(busy)
                case _:
                    code, text = 404, "there is /livez, /readyz, /metrics\n"
        except DurableError as error:
            code, text = 503, f"{error}\n"
        return Page(code, text, _KIND)

    def _metrics(self, busy: int) -> str:
        columns = RUNS.c.queue, RUNS.c.status
        counts = sa.select(*columns, sa.func.count(), sa.func.min(RUNS.c.updated_at)).group_by(*columns)
        rows: Any = query_once(self._engine, counts.order_by(*columns))
        runs = [({"queue": queue, "status": status}, count) for queue, status, count, _ in rows]
        oldest = [
            ({"queue": queue}, max(0, now_ms() - since) / 1000)
            for queue, status, _, since in rows
            if status == "queued"
        ]
        busy_here = [({"queue": self._queue}, busy)]
        with self._lock:
            effects = [({"kind": kind}, each) for kind, each in sorted(self._performed.items())]
            text = (
                *metric("toolreel_runs", "gauge", "Runs in the database.", runs),
                *metric("toolreel_queue_oldest_seconds", "gauge", "How long the oldest is queued.", oldest),
                *metric("toolreel_worker_runs", "gauge", "Runs that this worker is performing.", busy_here),
                *metric("toolreel_effect_seconds", "histogram", "How long effects took here.", effects),
            )
        return "".join(text)
