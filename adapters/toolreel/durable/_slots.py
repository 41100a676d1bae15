"""Slots: the names of workers, each held by one process at a time.

A run that its worker leaves behind when it dies belongs to the slot, and goes on when a worker takes the slot
again. SQLite's slots are locks on files next to the database, PostgreSQL's are advisory locks of a session:
both end with the process, however it ends.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy import exc

from toolreel._internal import DurableError
from toolreel._journal import taken
from toolreel.durable._engine import retried

_MOST: Final = 1_000
_CHECK_SECONDS: Final = 2.0
_DEAD_WITHIN_SECONDS: Final = 3.0
"""How long PostgreSQL may take to notice that a killed worker, whose slot its successor wants, is gone."""


class Slot:
    """The name of a worker, held by this process.

    :param release: leaves the name to others
    """

    is_lost = False
    """Whether another process has it now: the database restarted, and that one was faster."""

    def __init__(self, queue: str, name: str, release: Callable[[], None]) -> None:
        self.name = name
        self.executor = executor_of(queue, name)
        """The name with its queue, under which DBOS knows it: workers of other queues have other tools."""
        self.give_up = release


def executor_of(queue: str, name: str) -> str:
    """How DBOS knows a slot of a queue."""
    return f"{queue}/{name}"


def take_slot(url: sa.URL, queue: str, name: str | None) -> Slot:
    """Hold a slot of a queue: the named one, else the first free one of ``worker-1`` and so on.

    :raises DurableError: if another process holds the named one
    """
    if name is None:
        for number in range(1, _MOST + 1):
            if slot := _free(url, queue, f"worker-{number}"):
                return slot
        raise DurableError(f"slots: {_MOST} workers are alive; name one with --slot")
    until = time.monotonic() + _DEAD_WITHIN_SECONDS
    while (slot := _free(url, queue, name)) is None:
        if time.monotonic() > until:
            why = "a worker that is alive has it; stop that one, or take another --slot"
            raise DurableError(f"slot {name}: {why}")
        time.sleep(0.1)
    return slot


def _free(url: sa.URL, queue: str, name: str) -> Slot | None:
    """The slot, if no other process holds it."""
    executor = executor_of(queue, name)
    if url.get_backend_name() == "sqlite":
        path = Path(str(url.database))
        file = path.with_name(f"{path.name}.{_number(executor)}.slot").open("ab")
        if taken(file):
            return Slot(queue, name, file.close)
        file.close()
        return None
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    connection = retried(lambda: _locked(engine, executor))
    return None if connection is None else _SessionSlot(queue, name, engine, connection)


class _SessionSlot(Slot):
    """An advisory lock; a restart of the database ends the session, then it is taken again."""

    def __init__(self, queue: str, name: str, engine: sa.Engine, connection: sa.Connection) -> None:
        super().__init__(queue, name, self._release)
        self._engine = engine
        self._connection = connection
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="toolreel-slot")
        self._watcher.start()

    def _release(self) -> None:
        self._over.set()
        self._watcher.join()
        with suppress(exc.DBAPIError):
            self._connection.close()

    def _watch(self) -> None:
        while not self._over.wait(_CHECK_SECONDS):
            try:
                self._connection.execute(sa.text("SELECT 1"))
            except exc.DBAPIError:
                self._take_again()

    def _take_again(self) -> None:
        with suppress(exc.DBAPIError):
            self._connection.close()
        while not self._over.wait(0.1):
            with suppress(exc.DBAPIError):
                again = _locked(self._engine, self.executor)
                if again is None:
                    self.is_lost = True
                    self._over.set()
                else:
                    self._connection = again
                return


def _locked(engine: sa.Engine, name: str) -> sa.Connection | None:
    """A session that holds the lock; ``None`` if another one does."""
    connection = engine.connect()
    query = sa.text("SELECT pg_try_advisory_lock(:key)")
    try:
        if connection.execute(query, {"key": _number(name)}).scalar():
            return connection
    except exc.DBAPIError:
        connection.close()
        raise
    connection.close()
    return None


def _number(name: str) -> int:
    """A number for the name of a slot, for advisory locks."""
    return int.from_bytes(hashlib.sha256(f"toolreel slot {name}".encode()).digest()[:7])
