"""``Store``: all that workers and their clients ask of the database; it waits where the database is away."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer

from toolreel.durable._store import claims
from toolreel.durable._store.claims import (
    WORKFLOW,
    Claimed,
    InboxEntry,
    Resting,
    Segment,
    Written,
    now_ms,
    segments_of,
    wake,
)
from toolreel.durable._store.database import INBOX, RUNS, close_database, open_database, retried
from toolreel_core._jsontext import either, read
from toolreel_core._protocol import Event, decode_event

A_MINUTE: Final = 60.0
NEVER: Final = math.inf
_BATCH: Final = 200
"""Runs that one transaction deletes, so that none takes long."""
_Result = TypeVar("_Result")


class Store:
    """The database of durable runs.

    :param connections: how many it keeps open
    :param give_up_after: seconds for which it tries again while the database is away
    :raises DurableError: if the database cannot be used
    """

    def __init__(self, url: sa.URL, *, connections: int = 4, give_up_after: float = A_MINUTE) -> None:
        self.engine = open_database(url, connections=connections)
        self.client = DBOSClient(
            system_database_engine=self.engine, serializer=DBOSPortableJSONSerializer(), lazy=True
        )
        self._give_up_after = give_up_after

    def read(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        """The rows of a query."""

        def rows() -> Sequence[sa.Row[Any]]:
            with self.engine.connect() as connection:
                return connection.execute(query).all()

        return self._retried(rows)

    def change(self, work: Callable[[sa.Connection], _Result]) -> _Result:
        """Do something in a transaction.

        :param work: may be repeated after it was committed, so it has to be idempotent
        """

        def done() -> _Result:
            with self.engine.begin() as connection:
                return work(connection)

        return self._retried(done)

    def claim(self, run_id: str, workflow_id: str) -> Claimed | None:
        """Take a run for a segment; ``None`` if another one has it."""
        return self._retried(lambda: claims.claim(self.engine, run_id, workflow_id))

    def release(self, claimed: Claimed, rest: Resting) -> bool:
        """Let go of a run; ``False`` if something was said that it has not heard."""
        return self._retried(lambda: claims.release(self.engine, self.client, claimed, rest))

    def wake(self, run_id: str) -> None:
        """Queue a segment for a run."""
        self.change(lambda connection: wake(connection, self.client, run_id))

    def tell(self, run_id: str, event: Event, token: str, answers: str = "") -> None:
        """Write down what is said to a run, and queue a segment that hears it."""
        self._retried(lambda: claims.tell(self.engine, self.client, run_id, event, token, answers))

    def inbox_after(self, run_id: str, n: int) -> Sequence[InboxEntry]:
        """What was said to a run after the first ``n`` things."""
        query: Any = (
            sa.select(INBOX.c.n, INBOX.c.event, INBOX.c.answers)
            .where(INBOX.c.run_id == run_id, INBOX.c.n > n)
            .order_by(INBOX.c.n)
        )
        return [
            InboxEntry(row.n, decode_event(either(read(row.event))), row.answers) for row in self.read(query)
        ]

    def stored(self, segments: Iterable[Segment]) -> Sequence[Written]:
        """What the steps of segments have stored, in order."""
        every = (*segments,)
        return self._retried(
            lambda: [
                Written.of(step["output"])
                for segment in every
                for step in self.client.list_workflow_steps(segment.workflow_id)
                if segment.steps is None or step["function_id"] in segment.steps
            ]
        )

    def done(self, workflow_id: str) -> Sequence[tuple[int, str]]:
        """The numbers and names of a segment's steps that are stored, up to the first missing one."""
        steps = self._retried(lambda: self.client.list_workflow_steps(workflow_id, load_output=False))
        found = [(step["function_id"], step["function_name"]) for step in steps]
        return [item for _, item in takewhile(lambda each: each[1][0] == each[0], enumerate(found, 1))]

    def adopt(self, executor: str, *, but_of: str | None = None) -> Sequence[str]:
        """Queue the runs that a slot has left, and return their ids; the caller holds the slot.

        Its worker does not come back, or comes back as another release. What is stored of the runs counts,
        and nothing that their worker may still store if it is not dead.

        :param but_of: the release whose runs DBOS resumes automatically
        """
        left = self.client.list_workflows(
            status="PENDING", name=WORKFLOW, executor_id=executor, load_input=False, load_output=False
        )
        gone = [each.workflow_id for each in left if but_of is None or each.app_version != but_of]
        return [run_id for workflow_id in gone if (run_id := self._taken_over(workflow_id))]

    def _taken_over(self, workflow_id: str) -> str | None:
        self.client.cancel_workflow(workflow_id)  # its worker, if it lives, stops at its next step
        steps = self.client.list_workflow_steps(workflow_id, load_output=False)
        stored = Segment(workflow_id, tuple(step["function_id"] for step in steps))
        with self.engine.begin() as connection:
            row = connection.execute(sa.select(RUNS).where(RUNS.c.active == workflow_id)).first()
            if row is None:
                run_id = workflow_id.rpartition("~")[0]
                wake(
                    connection, self.client, run_id
                )  # it had not begun; another segment hears what it was queued for
                return run_id
            segments = [
                stored if each.workflow_id == workflow_id else each for each in segments_of(row.segments)
            ]
            connection.execute(
                sa.update(RUNS)
                .where(RUNS.c.run_id == row.run_id, RUNS.c.active == workflow_id)
                .values(
                    active=None,
                    status="queued",
                    segments=json.dumps(segments),
                    interrupted=RUNS.c.interrupted + 1,
                    updated_at=now_ms(),
                )
            )
            wake(connection, self.client, row.run_id)
            return str(row.run_id)

    def prune(self, before_ms: int) -> int:
        """Delete the runs that ended before a time, with their segments; returns how many."""
        ended = RUNS.c.status == "ended", RUNS.c.updated_at < before_ms
        query: Any = sa.select(RUNS.c.run_id, RUNS.c.wakeups).where(*ended).limit(_BATCH)
        deleted = 0
        while found := self.read(query):
            # First the segments: a deletion that is cut short is done again, as long as the run is there.
            self.client.delete_workflows(
                [f"{row.run_id}~{n}" for row in found for n in range(1, row.wakeups + 1)]
            )
            names = [row.run_id for row in found]
            with self.engine.begin() as connection:
                connection.execute(sa.delete(INBOX).where(INBOX.c.run_id.in_(names)))
                connection.execute(sa.delete(RUNS).where(RUNS.c.run_id.in_(names)))
            deleted += len(found)
        return deleted

    def close(self) -> None:
        """Close the connections."""
        self.client.destroy()
        close_database(self.engine)

    def _retried(self, attempt: Callable[[], _Result]) -> _Result:
        return retried(attempt, self._give_up_after)
