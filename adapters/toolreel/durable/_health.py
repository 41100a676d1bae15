"""A small HTTP server next to a worker for probes: ``/livez``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import sqlalchemy as sa
import uvicorn

from toolreel._internal import DurableError, Page, listening, page_app, server_config
from toolreel.durable._ledger import Ledger
from toolreel.durable._metrics import Performed, Present, text
from toolreel.durable._store.claims import now_ms
from toolreel.durable._store.database import RUNS, query_once

if TYPE_CHECKING:
    from toolreel.durable._worker import Worker

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

    :param ports: where limits are looked for
    """

    def __init__(self, worker: Worker, queue: str, engine: sa.Engine, ports: object) -> None:
        self.performed = Performed()
        self._worker, self._queue, self._engine, self._ports = worker, queue, engine, ports

    @property
    def pages(self) -> Pages:
        """What makes each page."""
        return {"/livez": self._live, "/readyz": self._ready, "/metrics": self._metrics}

    def _live(self) -> Page:
        lost = self._worker.is_lost
        return Page(503, "another worker has taken the slot\n") if lost else Page(200, "alive\n")

    def _ready(self) -> Page:
        if why := self._worker.not_ready:
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
        return Present(by_status, queued_for, len(self._worker.busy_with), waits)


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
