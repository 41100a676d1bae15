"""``Worker``: performs the runs of a queue, on DBOS."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import sqlalchemy as sa
from dbos import DBOS, DBOSPortableJSONSerializer

from toolreel._driver import Endpoint, Performer, Ports, Wanted, secrets_of
from toolreel._internal import DurableError, Level, is_heard, log
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel.durable._answers import Uncertain
from toolreel.durable._health import HealthServer, Probes
from toolreel.durable._runs import QUEUE
from toolreel.durable._segment import Policy, Steps, perform_segment
from toolreel.durable._store.claims import WORKFLOW, Resting
from toolreel.durable._store.database import RUNS, database_url, retried
from toolreel.durable._store.slots import Slot, take_slot
from toolreel.durable._store.store import NEVER, Store
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import Event, SendRequest

Watch: TypeAlias = Callable[[dict[str, object]], None]
_TOOK: Final = re.compile(r'"took":{"ms":(\d+),[^{}]*}}$')
"""The time of an effect at the end of a journal's line, read without parsing the whole line."""
_LAST: Final = 120
"""Characters at the end of a line that hold how long its effect took."""
_EVENT: Final = re.compile(
    r'{"n":(?P<n>\d+),"kind":"(?P<kind>\w+)".{0,99}?"event":{"type":"\w+"(?:,"ref":(?P<ref>\d+))?'
)
"""The beginning of a line of the journal, without its texts."""


Send: TypeAlias = Callable[[], Event | None]
Around: TypeAlias = Callable[[SendRequest, Send], Event | None]
"""Gets a request and what sends it; returns the answer, after it has waited for its turn, for example."""


@dataclass(frozen=True, slots=True)
class _Surrounded:
    performer: Performer
    around: Around

    @property
    def tools(self) -> object:
        """The tool host of the ports, if they say it."""
        return getattr(self.performer, "tools", None)

    @property
    def endpoint(self) -> object:
        """The endpoint of the ports, if they say it."""
        return getattr(self.performer, "endpoint", None)

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the ports send."""
        return secrets_of(self.performer)

    def perform(self, effect: Wanted) -> Event | None:
        """Perform an effect; a request goes through ``around``."""
        if isinstance(effect, SendRequest):
            return self.around(effect, lambda: self.performer.perform(effect))
        return self.performer.perform(effect)


_LEVELS: Final[Mapping[str, Level]] = {"failed": "warning", "refused": "warning"}


def _ports_of(given: Any) -> Performer:  # noqa: ANN401 - what a caller passes, checked here
    """The ports of a worker; an endpoint alone is one for runs without tools.

    :raises ConfigError: if they are to be awaited
    """
    perform = getattr(given, "perform", None) or getattr(given, "send", None)
    if iscoroutinefunction(perform):
        sync = "Ports" if hasattr(given, "perform") else "HttpEndpoint"
        raise ConfigError(
            f"Worker: expected {sync}, got {type(given).__name__}; a worker performs each run in a thread of "
            f"its own, so give it the one that is not async"
        )
    return given if hasattr(given, "perform") else Ports(given)


def _say(watch: Watch | None, happened: dict[str, object]) -> None:
    if "kind" in happened:
        told = {key: value for key, value in happened.items() if key not in ("kind", "event")}
        log("durable", "debug", "event_stored", {**told, "effect": happened["kind"], "n": happened["event"]})
    else:
        log("durable", _LEVELS.get(str(happened.get("is")), "info"), "run_rests", happened)
    if watch is not None:
        watch(happened)


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
    :param poll_seconds: how often it looks for new runs
    :param uncertain: what is done about a call that a dead worker may have begun, of a tool that is neither
        read-only nor idempotent: ``repeat`` it with the same idempotency key, or ``ask``: the run waits until
        somebody approves that
    :param around: called with each request and what sends it, for example to wait for a rate limit
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
        around: Around | None = None,
        watch: Watch | None = None,
        health: str | None = None,
    ) -> None:
        ports = _ports_of(performer)
        self._url = database_url(database)
        self._queue, self._named, self._concurrency, self._poll = queue, slot, concurrency, poll_seconds
        secrets = known_secrets_of(os.environ) | secrets_of(ports)
        surrounded = ports if around is None else _Surrounded(ports, around)
        self._policy = Policy(surrounded, secrets, uncertain, threading.Event())
        self._watch = watch
        self._health = health
        self._health_server: HealthServer | None = None
        self._opened: tuple[Store, Slot] | None = None
        self._busy: dict[str, str] = {}
        """The run of each workflow that is under way."""
        self._listens = False

    @property
    def slot(self) -> str:
        """The name that it has; empty before it starts."""
        return "" if self._opened is None else self._opened[1].name

    @property
    def busy_with(self) -> tuple[str, ...]:
        """The ids of the runs that it is performing."""
        return tuple(self._busy.values())

    @property
    def is_lost(self) -> bool:
        """Whether another worker has taken its slot, so that it has to stop."""
        return self._opened is not None and self._opened[1].is_lost

    @property
    def not_ready(self) -> str:
        """Why it takes no runs; empty if it does."""
        if self._policy.stopping.is_set():
            return "it is stopping"
        if self.is_lost:
            return "another worker has taken its slot"
        return "" if self._listens else "it is starting"

    @property
    def health_port(self) -> int | None:
        """The port on which it answers probes, if it does."""
        return None if self._health_server is None else self._health_server.port

    def has_work(self) -> bool:
        """Whether its queue has runs that have not ended and wait for nobody."""
        busy = RUNS.c.status.in_(("queued", "running", "sleeping"))
        query = sa.select(RUNS.c.run_id).where(RUNS.c.queue == self._queue, busy).limit(1)
        return bool(self._store.read(query))

    def start(self) -> None:
        """Take a slot, take up again what a worker of this name left behind, and listen to the queue."""
        if _WORKERS:
            raise DurableError("worker: this process has one already; start another process")
        store = Store(self._url, connections=self._concurrency + 6, give_up_after=NEVER)
        slot = take_slot(self._url, self._queue, self._named)
        self._opened = store, slot
        try:
            if self._health is not None:
                self._answer_probes(self._health, store)
            release = f"toolreel {version('toolreel')}"
            store.adopt(slot.executor, but_of=release)
            _WORKERS.append(self)
            retried(lambda: _launch(store, slot, self._queue, release))
            retried(self._register_queue)  # DBOS raises a loss of its connection here, too
        except BaseException:
            self.stop(0)
            raise
        self._listens = True

    def stop(self, seconds: float = 30.0) -> bool:
        """Let all runs rest before their next effect, and end; returns whether all have.

        :param seconds: how long to wait for effects that are under way
        """
        self._policy.stopping.set()
        if self._opened is None:
            return True
        since = time.monotonic()
        while self._busy and time.monotonic() - since < seconds:
            time.sleep(0.02)
        rested = not self._busy
        DBOS.destroy()
        _WORKERS.clear()
        # Not before: the segments under way need the database.
        store, slot = self._opened
        store.close()
        slot.give_up()
        if self._health_server is not None:
            self._health_server.close()
        self._opened = None
        return rested

    def _register_queue(self) -> None:
        DBOS.register_queue(
            self._queue,
            worker_concurrency=self._concurrency,
            polling_interval_sec=self._poll,
            on_conflict="always_update",
        )

    def _answer_probes(self, address: str, store: Store) -> None:
        def status() -> tuple[bool, str, int]:
            return self.is_lost, self.not_ready, len(self._busy)

        probes, told = Probes(status, self._queue, store.engine, self._policy.performer), self._watch
        self._health_server = HealthServer(address, probes.pages)

        def watch(happened: dict[str, object]) -> None:
            probes.performed.see(happened)
            _say(told, happened)

        self._watch = watch

    def perform(self, run_id: str, workflow_id: str) -> str:
        """Perform one segment of a run; DBOS calls it, in several threads."""
        self._busy[workflow_id] = run_id
        try:
            return self._segment(run_id, workflow_id)
        finally:
            del self._busy[workflow_id]

    def _segment(self, run_id: str, workflow_id: str) -> str:
        """One segment of a run."""
        store = self._store
        if self._policy.stopping.is_set():
            store.wake(run_id)  # another worker performs it
            return "queued"
        claimed = store.claim(run_id, workflow_id)
        if claimed is None:
            return "taken"
        steps = Steps(store, workflow_id, partial(self._see, run_id))
        try:
            status = perform_segment(claimed, self._policy, steps, store)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not keep the run
            status = "failed"
            why = f"{type(error).__name__}: {error}"
            store.release(claimed, Resting("failed", claimed.events, 0, problem=why))
        _say(self._watch, {"run": run_id, "is": status})
        return status

    def _see(self, run_id: str, line: str) -> None:
        """Say what a line of the journal holds that was stored."""
        if not (self._watch or is_heard("durable", "debug")) or not (found := _EVENT.match(line)):
            return
        ref = {} if found["ref"] is None else {"ref": int(found["ref"])}
        took = _TOOK.search(line[-_LAST:])
        ms = {} if took is None else {"ms": int(took[1])}
        _say(self._watch, {"run": run_id, "event": int(found["n"]), "kind": found["kind"], **ref, **ms})

    @property
    def _store(self) -> Store:
        if self._opened is None:
            raise DurableError("worker: it is not running; use it in a with block")
        return self._opened[0]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()


_WORKERS: Final = list[Worker]()
"""The worker of this process, while it runs."""


def _launch(store: Store, slot: Slot, queue: str, release: str) -> None:
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


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
def _segment(run_id: str) -> str:
    workflow_id = DBOS.workflow_id
    if not _WORKERS or workflow_id is None:
        raise DurableError(f"worker: it does not perform {WORKFLOW}")
    return _WORKERS[0].perform(run_id, workflow_id)
