"""DBOS in this process: one queue, one slot, and what performs the workflows."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Final, TypeAlias

import sqlalchemy as sa
from dbos import DBOS, DBOSPortableJSONSerializer

from toolreel._internal import DurableError
from toolreel.durable._store.claims import WORKFLOW
from toolreel.durable._store.database import retried
from toolreel.durable._store.slots import take_slot
from toolreel.durable._store.store import NEVER, Store

APPLICATION: Final = "toolreel"
Perform: TypeAlias = Callable[[str, str], str]
"""Gets what a workflow is about and its id, and returns its result; called from several threads."""

_performing: list[Perform] = []
"""What performs the segments in this process; none before a worker has started."""


class Host:
    """A process that performs the workflows of one queue.

    :param slot: its name; ``None`` for the first that is free
    :raises DurableError: if there is one in this process already, or somebody who is alive has the slot
    """

    def __init__(
        self, url: sa.URL, queue: str, slot: str | None, concurrency: int, poll_seconds: float
    ) -> None:
        if _performing:
            raise DurableError("worker: this process has one already; start another process")
        self._busy: dict[str, str] = {}
        self._queue, self._concurrency, self._poll_seconds = queue, concurrency, poll_seconds
        self.store = Store(url, connections=concurrency + 6, give_up_after=NEVER)
        self.slot = take_slot(url, queue, slot)

    def start(self, perform: Perform) -> None:
        """Take up what a worker of this slot left behind, and listen to the queue.

        :param perform: may be called before this returns
        :raises DurableError: if the database went away and does not come back
        """
        release = f"toolreel {version('toolreel')}"
        self.store.adopt(self.slot.executor, but_of=release)
        _performing.append(self._counted(perform))
        retried(lambda: self._launch(release))
        retried(self._register_queue)  # DBOS raises a loss of its connection here, too

    def _launch(self, release: str) -> None:
        """Launch DBOS, or leave nothing of it, since it cannot be launched again."""
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_engine": self.store.engine,
                "executor_id": self.slot.executor,
                "application_version": release,
                "serializer": DBOSPortableJSONSerializer(),
                "log_level": "ERROR",
                "enable_otlp": False,
            }
        )
        DBOS.listen_queues([self._queue])
        try:
            DBOS.launch()
        except BaseException:
            DBOS.destroy()
            raise

    def _register_queue(self) -> None:
        DBOS.register_queue(
            self._queue,
            worker_concurrency=self._concurrency,
            polling_interval_sec=self._poll_seconds,
            on_conflict="always_update",
        )

    @property
    def busy_with(self) -> tuple[str, ...]:
        """What the workflows are about that are under way."""
        return tuple(self._busy.values())

    def stop(self, seconds: float) -> bool:
        """End; returns whether nothing was under way any more.

        :param seconds: how long to wait for that
        """
        since = time.monotonic()
        while self._busy and time.monotonic() - since < seconds:
            time.sleep(0.02)
        rested = not self._busy
        DBOS.destroy()
        _performing.clear()
        self.store.close()
        self.slot.give_up()
        return rested

    def _counted(self, perform: Perform) -> Perform:
        def counted(about: str, workflow_id: str) -> str:
            self._busy[workflow_id] = about
            try:
                return perform(about, workflow_id)
            finally:
                del self._busy[workflow_id]

        return counted


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
def _segment(run_id: str) -> str:
    workflow_id = DBOS.workflow_id
    if not _performing or workflow_id is None:
        raise DurableError(f"worker: it does not perform {WORKFLOW}")
    return _performing[0](run_id, workflow_id)
