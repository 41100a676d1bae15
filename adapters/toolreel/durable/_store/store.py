"""``Store``: all that workers and their clients ask of the database; it waits where the database is away."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer, WorkflowStatus

from toolreel.durable._store import adoption, claims, inbox, pruning, steps
from toolreel.durable._store.claims import Claimed, Resting, Segment
from toolreel.durable._store.database import close_database, lasting, open_database
from toolreel.durable._store.inbox import Said
from toolreel.durable._store.steps import Written
from toolreel_core._protocol import Event

A_MINUTE: Final = 60.0
FOR_EVER: Final = math.inf
_Result = TypeVar("_Result")


class Store:
    """The database of durable runs.

    :param connections: how many it keeps open
    :param patience: seconds for which it tries again while the database is away
    :raises DurableError: if the database cannot be used
    """

    def __init__(self, url: sa.URL, *, connections: int = 4, patience: float = A_MINUTE) -> None:
        self.engine = open_database(url, connections=connections)
        self.client = DBOSClient(
            system_database_engine=self.engine, serializer=DBOSPortableJSONSerializer(), lazy=True
        )
        self._patience = patience

    def read(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        """The rows of a query."""

        def rows() -> Sequence[sa.Row[Any]]:
            with self.engine.connect() as connection:
                return connection.execute(query).all()

        return self._lasting(rows)

    def change(self, work: Callable[[sa.Connection], _Result]) -> _Result:
        """Do something in a transaction.

        :param work: may be repeated after it was committed, so it has to be idempotent
        """

        def done() -> _Result:
            with self.engine.begin() as connection:
                return work(connection)

        return self._lasting(done)

    def claim(self, run_id: str, workflow_id: str) -> Claimed | None:
        """Take a run for a segment; ``None`` if another one has it."""
        return self._lasting(lambda: claims.claim(self.engine, run_id, workflow_id))

    def release(self, claimed: Claimed, rest: Resting) -> bool:
        """Let go of a run; ``False`` if something was said that it has not heard."""
        return self._lasting(lambda: claims.release(self.engine, self.client, claimed, rest))

    def wake(self, run_id: str) -> None:
        """Queue a segment for a run."""
        self.change(lambda connection: claims.wake(connection, self.client, run_id))

    def tell(self, run_id: str, event: Event, token: str, answers: str = "") -> None:
        """Write down what is said to a run, and queue a segment that hears it."""
        self._lasting(lambda: claims.tell(self.engine, self.client, run_id, event, token, answers))

    def heard_after(self, run_id: str, n: int) -> Sequence[Said]:
        """What was said to a run after the first ``n`` things."""
        return self._lasting(lambda: inbox.heard_after(self.engine, run_id, n))

    def stored(self, segments: Iterable[Segment]) -> Sequence[Written]:
        """What the steps of segments have stored."""
        every = (*segments,)
        return self._lasting(lambda: steps.stored_steps(self.client, every))

    def done(self, workflow_id: str) -> Sequence[tuple[int, str]]:
        """The numbers and names of a segment's steps that are stored, up to the first missing one."""
        return self._lasting(lambda: steps.done_in_order(self.client, workflow_id))

    def workflows(self, ids: Sequence[str], statuses: Sequence[str]) -> Sequence[WorkflowStatus]:
        """Those workflows that have one of the statuses, with their results."""
        named, wanted = [*ids], [*statuses]
        return self._lasting(
            lambda: self.client.list_workflows(workflow_ids=named, status=wanted, load_input=False)
        )

    def adopt(self, executor: str, *, but_of: str | None = None) -> Sequence[str]:
        """Queue the runs that a slot has left, and return their ids; the caller holds the slot."""
        return adoption.adopt(self.engine, self.client, executor, but_of=but_of)

    def prune(self, before_ms: int) -> int:
        """Delete the runs that ended before a time; returns how many."""
        return pruning.prune(self.engine, self.client, before_ms)

    def close(self) -> None:
        """Close the connections."""
        self.client.destroy()
        close_database(self.engine)

    def _lasting(self, attempt: Callable[[], _Result]) -> _Result:
        return lasting(attempt, self._patience)
