"""``Worker``: performs the runs of a queue, on DBOS."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from inspect import iscoroutinefunction
from typing import Any, Self, TypeAlias

import sqlalchemy as sa
import uvicorn
from dbos import DBOS, DBOSPortableJSONSerializer
from sqlalchemy import exc

from toolreel._driver import Endpoint, Performer, Ports, secrets_of_ports
from toolreel._internal import (
    DurableError,
    Durations,
    Page,
    is_log_enabled,
    listening_socket,
    log,
    metric_lines,
    page_app,
    server_config,
)
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel.durable._database import RUNS, database_url, first_line_of_error, now_ms, retry_lost_connection
from toolreel.durable._limited_endpoint import Slot, take_slot
from toolreel.durable._runs import QUEUE
from toolreel.durable._segment import Policy, Uncertain, perform_segment
from toolreel.durable._store import NEVER, WORKFLOW, Store
from toolreel_core._errors import ConfigError

WorkerListener: TypeAlias = Callable[[dict[str, object]], None]


class Worker:
    """Performs the runs of a queue, in this process; use it in a ``with`` block.

    When the block ends, runs rest before their next effect and go back to the queue. A process has one worker
    at a time, and no other application of DBOS.

    :param performer: performs each effect, for example :class:`~toolreel.Ports`; called from several threads
    :param database: as for ``DurableRuns``
    :param queue: the queue whose runs it performs
    :param slot: the name of this worker, which no other may have while it is alive. Runs that it leaves
        behind when it dies go on when a worker of this name starts again. By default, the first free one of
        ``worker-1``, ``worker-2`` and so on
    :param concurrency: how many runs each worker of the queue performs at once; the worker that started last
        sets it for all
    :param poll_seconds: how often it looks for new runs, and whether one that waits for a retry is cancelled
    :param uncertain: what is done about a call that a dead worker may have begun, of a tool that is neither
        read-only nor idempotent: ``repeat`` it with the same idempotency key, or ``ask``: the run waits until
        somebody approves that
    :param watch: called with what happens, for logs: each event that is stored, and each run that rests
    :param health: ``HOST:PORT`` on which it answers ``/livez``, ``/readyz`` and ``/metrics`` while it runs
    :raises DurableError: if the database cannot be used, or a worker that is alive has the slot
    :raises ConfigError: if the performer is async
    """

    def __init__(  # noqa: PLR0913 - a worker is configured once
        self,
        performer: Performer | Endpoint,
        database: str | None = None,
        *,
        queue: str = QUEUE,
        slot: str | None = None,
        concurrency: int = 4,
        poll_seconds: float = 1.0,
        uncertain: Uncertain = "repeat",
        watch: WorkerListener | None = None,
        health: str | None = None,
    ) -> None:
        if iscoroutinefunction(getattr(performer, "perform", None) or getattr(performer, "send", None)):
            raise ConfigError(
                f"Worker: {type(performer).__name__} is async; a worker performs each run in a thread of its "
                "own, so give it Ports"
            )
        given: Any = performer
        ports = given if hasattr(given, "perform") else Ports(given)
        self._url = database_url(database)
        self.queue, self._named, self._concurrency, self._poll = queue, slot, concurrency, poll_seconds
        secrets = known_secrets_of(os.environ) | secrets_of_ports(ports)
        self._policy = Policy(ports, secrets, uncertain, poll_seconds, threading.Event())
        self._watch = watch
        self._health = health
        self._health_server: _HealthServer | None = None
        self._slot: Slot | None = None
        self._busy: dict[str, str] = {}
        """The run of each workflow that is under way."""
        self._listens = False

    @property
    def slot(self) -> str:
        """The name that it has; empty before it starts."""
        return "" if self._slot is None else self._slot.name

    @property
    def busy_with(self) -> tuple[str, ...]:
        """The ids of the runs that it is performing."""
        return tuple(self._busy.values())

    @property
    def is_lost(self) -> bool:
        """Whether another worker has taken its slot, so that it has to stop."""
        return self._slot is not None and self._slot.is_lost

    @property
    def health_port(self) -> int | None:
        """The port on which it answers probes, if it does."""
        return None if self._health_server is None else self._health_server.port

    def has_work(self) -> bool:
        """Whether its queue has runs that have not ended and wait for nobody; ask while it runs."""
        busy = RUNS.c.status.in_(("queued", "running"))
        query = sa.select(RUNS.c.run_id).where(RUNS.c.queue == self.queue, busy).limit(1)
        return bool(self._store.rows_of_query(query))

    def start(self) -> None:
        """Take a slot, take up again what a worker of this name left behind, and listen to the queue."""
        if _WORKERS:
            raise DurableError("worker: this process has one already; start another process")
        # DBOS and the probes share the engine with the runs.
        self._store = store = Store(self._url, connections=self._concurrency + 6, give_up_after=NEVER)
        self._slot = slot = take_slot(self._url, self.queue, self._named)
        try:
            if self._health is not None:
                self._health_server = _HealthServer(self._health, self, store.engine)
            release = f"toolreel {version('toolreel')}"
            store.adopt_runs(slot.executor, but_of=release)
            _WORKERS.append(self)
            retry_lost_connection(lambda: _launch_dbos(store, slot, self.queue, release))
            retry_lost_connection(self._register_queue)  # DBOS raises a loss of its connection here, too
        except BaseException:
            self.stop(0)
            raise
        self._listens = True

    def stop(self, seconds: float = 30.0) -> bool:
        """Let all runs rest before their next effect, and end; returns whether all have.

        :param seconds: how long to wait for effects that are under way
        """
        self._policy.stopping.set()
        if self._slot is None:
            return True
        since = time.monotonic()
        while self._busy and time.monotonic() - since < seconds:
            time.sleep(0.02)
        rested = not self._busy
        DBOS.destroy()
        _WORKERS.clear()
        # Not before: the segments under way need the database.
        self._store.close()
        self._slot.give_up()
        if self._health_server is not None:
            self._health_server.close()
        self._slot = None
        return rested

    @property
    def unready(self) -> str:
        """Why it takes no runs; empty if it does."""
        if self._policy.stopping.is_set():
            return "it is stopping"
        if self.is_lost:
            return "another worker has taken its slot"
        return "" if self._listens else "it is starting"

    def _register_queue(self) -> None:
        DBOS.register_queue(
            self.queue,
            worker_concurrency=self._concurrency,
            polling_interval_sec=self._poll,
            on_conflict="always_update",
        )

    def perform(self, run_id: str, workflow_id: str) -> str:
        """Perform one segment of a run; DBOS calls it, in several threads."""
        store = self._store
        self._busy[workflow_id] = run_id
        try:
            if self._policy.stopping.is_set():
                # Another worker performs it.
                store.in_transaction(lambda connection: store.queue_segment(connection, run_id))
                return "queued"
            if (claimed := store.claim_run(run_id, workflow_id)) is None:
                return "taken"
            status = perform_segment(claimed, self._policy, store, partial(self._report_stored_event, run_id))
            rests: dict[str, object] = {"run": run_id, "is": status}
            log("durable", "warning" if status in {"failed", "refused"} else "info", "run_rests", rests)
            if self._watch is not None:
                self._watch(rests)
            return status
        finally:
            del self._busy[workflow_id]

    def _report_stored_event(self, run_id: str, line: str) -> None:
        if line.startswith('{"n":') and (
            self._watch or self._health_server or is_log_enabled("durable", "debug")
        ):
            stored = json.loads(line)
            kind, ref, ms = stored["kind"], stored["event"].get("ref"), stored.get("took", {}).get("ms")
            at = {name: value for name, value in (("ref", ref), ("ms", ms)) if value is not None}
            log("durable", "debug", "event_stored", {"run": run_id, **at, "effect": kind, "n": stored["n"]})
            if self._health_server is not None and ms is not None:  # what users say takes no time
                self._health_server.count_effect(kind, ms)
            if self._watch is not None:
                self._watch({"run": run_id, "event": stored["n"], "kind": kind, **at})

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds that an effect takes at most, for each bucket."""
_CONNECTIONS = 64
"""Probes at once, each of which has a thread."""
_KIND = "text/plain; version=0.0.4; charset=utf-8"
"""The media type of the text format of Prometheus."""


class _HealthServer:
    """Answers probes at an address.

    :raises DurableError: if the address is not valid, or is taken
    """

    def __init__(self, address: str, worker: Worker, engine: sa.Engine) -> None:
        self._worker, self._engine = worker, engine
        self._performed: dict[str, Durations] = {}
        """How long the effects of each kind took."""
        self._lock = threading.Lock()
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise DurableError(f"health: {address!r} is not an address; write HOST:PORT, as 127.0.0.1:9090")
        try:
            self._socket = listening_socket(host.strip("[]"), int(port))
        except OSError as error:
            raise DurableError(f"health: {address} cannot be used: {error.strerror or error}") from None
        self.port = int(self._socket.getsockname()[1])
        self._server = uvicorn.Server(server_config(page_app(self._page), connections=_CONNECTIONS))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True, name="toolreel-health"
        )
        self._thread.start()

    def count_effect(self, kind: str, ms: int) -> None:
        with self._lock:
            self._performed.setdefault(kind, Durations(_BOUNDS)).add(ms / 1000)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _page(self, path: str, _query: str, _headers: object) -> Page:
        lost, unready = self._worker.is_lost, self._worker.unready
        status, text = 200, ""
        try:
            match path:
                case "/livez":
                    status, text = (503, "another worker has taken the slot") if lost else (200, "alive")
                case "/readyz" if unready:
                    status, text = 503, unready
                case "/readyz":
                    self._query_rows(sa.select(sa.literal(1)))
                    text = "ready"
                case "/metrics":
                    return Page(200, self._metrics(), _KIND)
                case _:
                    status, text = 404, "there is /livez, /readyz, /metrics"
        except exc.SQLAlchemyError as error:
            status, text = 503, f"database: it is away: {first_line_of_error(error)}"
        return Page(status, f"{text}\n", _KIND)

    def _query_rows(self, query: sa.Executable) -> Any:  # noqa: ANN401 - rows
        """Without another attempt: a probe is answered at once."""
        with self._engine.connect() as connection:
            return connection.execute(query).all()

    def _metrics(self) -> str:
        columns = RUNS.c.queue, RUNS.c.status
        counts = sa.select(*columns, sa.func.count(), sa.func.min(RUNS.c.updated_at)).group_by(*columns)
        rows = self._query_rows(counts.order_by(*columns))
        runs = [({"queue": queue, "status": status}, count) for queue, status, count, _ in rows]
        oldest = [
            ({"queue": queue}, max(0, now_ms() - since) / 1000)
            for queue, status, _, since in rows
            if status == "queued"
        ]
        busy = [({"queue": self._worker.queue}, len(self._worker.busy_with))]
        with self._lock:
            effects = [({"kind": kind}, each) for kind, each in sorted(self._performed.items())]
            text = (
                *metric_lines("toolreel_runs", "gauge", "Runs in the database.", runs),
                *metric_lines(
                    "toolreel_queue_oldest_seconds", "gauge", "How long the oldest is queued.", oldest
                ),
                *metric_lines("toolreel_worker_runs", "gauge", "Runs that this worker is performing.", busy),
                *metric_lines("toolreel_effect_seconds", "histogram", "How long effects took here.", effects),
            )
        return "".join(text)


_WORKERS = list[Worker]()
"""The worker of this process, while it runs."""


def _launch_dbos(store: Store, slot: Slot, queue: str, release: str) -> None:
    """Launch DBOS, or leave nothing of it, since it cannot be launched again."""
    DBOS(
        config={
            "name": "toolreel",
            "system_database_engine": store.engine,
            "executor_id": slot.executor,
            "application_version": release,
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "ERROR",
            "enable_otlp": False,
        }
    )
    DBOS.listen_queues([queue])
    try:
        DBOS.launch()
    except BaseException:
        DBOS.destroy()
        raise


# No limit of DBOS (100 by default): interruptions are counted by run, see ``MAX_INTERRUPTIONS``.
@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
def _perform_segment_workflow(run_id: str) -> str:
    workflow_id = DBOS.workflow_id
    if not _WORKERS or workflow_id is None:
        raise DurableError(f"worker: it does not perform {WORKFLOW}")
    return _WORKERS[0].perform(run_id, workflow_id)
