"""What the database holds of durable runs: who works on which, what was said to it, and its steps.

A run is performed in segments, each a workflow of DBOS: from its begin, or from the moment that something was
said to it, until it ends or rests. Whatever is said to a run is written down and queues a segment in the same
transaction. A segment that finds the run taken returns at once, since the one that has it lets go only if it
has heard everything. So nothing is lost, nothing waits in a worker, and no two workers act for one run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict, TypeVar, cast

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions

from toolreel.durable._database import (
    INBOX,
    RUNS,
    close_database,
    insert_if_missing,
    open_database,
    retry_lost_connection,
)
from toolreel_core._jsontext import canonical, read_json, value_or_failure
from toolreel_core._protocol import CancelRequested, Event, decode_event, encode

WORKFLOW = "toolreel.run"
Status: TypeAlias = Literal["queued", "running", "waiting", "ended", "failed", "refused"]


class Segment(NamedTuple):
    workflow_id: str
    steps: tuple[int, ...] | None = None
    """The numbers of its steps that count; ``None`` for all. Of a dead worker's, those stored in time."""


@dataclass(frozen=True, slots=True)
class Claimed:
    run_id: str
    workflow_id: str
    events: int
    """Events when it rested last."""
    plan: str
    segments: tuple[Segment, ...]
    interrupted: int
    """How many times a worker died on it since it last rested."""
    recovered: bool
    """Whether this segment has begun before, on a worker that died."""
    trace: Mapping[str, str]
    """The headers of its submitter's trace; empty without one."""


class StoredStep(TypedDict):
    """What one step stores, as DBOS keeps it."""

    heard: int
    """How much of the inbox the run has heard."""
    lines: list[str]
    """Of the journal."""
    problem: NotRequired[str]
    """What went wrong in this program, if anything; then nothing was recorded."""


@dataclass(frozen=True, slots=True)
class InboxEntry:
    n: int
    """Counted from 1."""
    event: Event
    answers: str = ""
    """The fingerprint of the effect that a decision is about; empty for what answers none."""


def parse_segments(text: str) -> tuple[Segment, ...]:
    return tuple(
        Segment(workflow_id, None if steps is None else tuple(steps))
        for workflow_id, steps in json.loads(text)
    )


def event_number_in_line(line: str) -> int:
    # Without JSON, since every line of a run passes here. That of an event begins with its number.
    return int(line[5 : line.index(",")]) if line.startswith('{"n":') else 0


def journal_text(plan: str, stored: Iterable[StoredStep]) -> str:
    """The journal that the steps of all segments tell, each event with its blobs, up to the first gap."""
    whole, events = list[str](), 0
    for written in stored:
        with_event: list[str] = []
        for line in written["lines"]:
            with_event.append(line)
            if number := event_number_in_line(line):
                if number == events + 1:
                    events = number
                    whole += with_event
                with_event = []
    return plan + "".join(f"{line}\n" for line in whole)


NEVER = math.inf
_BATCH = 200
"""Runs that one transaction deletes, so that none takes long."""
_Result = TypeVar("_Result")


class Store:
    def __init__(self, url: sa.URL, *, connections: int = 4, give_up_after: float = 60.0) -> None:
        self.engine = open_database(url, connections=connections)
        self.client = DBOSClient(
            system_database_engine=self.engine, serializer=DBOSPortableJSONSerializer(), lazy=True
        )
        self._give_up_after = give_up_after

    def rows_of_query(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        return self.in_transaction(lambda connection: connection.execute(query).all())

    def in_transaction(self, work: Callable[[sa.Connection], _Result]) -> _Result:
        """Do some work in a transaction.

        :param work: may be repeated after it was committed, so it has to be idempotent
        """

        def done() -> _Result:
            with self.engine.begin() as connection:
                return work(connection)

        return self._with_retries(done)

    def _update_row(self, change: sa.Update) -> bool:
        return bool(self.in_transaction(lambda connection: connection.execute(change).rowcount))

    def claim_run(self, run_id: str, workflow_id: str) -> Claimed | None:
        """Take a run; ``None`` if another segment has it, this one has let go of it, or it was deleted."""
        while rows := self.rows_of_query(sa.select(RUNS).where(RUNS.c.run_id == run_id)):
            (row,) = rows
            again, segments = row.active == workflow_id, parse_segments(row.segments)
            if not again:
                # It may have let go of the run before: its worker died before its workflow was over.
                if row.active is not None or workflow_id in {each.workflow_id for each in segments}:
                    return None
                segments += (Segment(workflow_id),)
            interrupted = row.interrupted + again
            # Only if the row is still as it was read; else it is read again.
            change = (
                sa.update(RUNS)
                .where(RUNS.c.run_id == run_id, RUNS.c.segments == row.segments)
                .where(RUNS.c.active == workflow_id if again else RUNS.c.active.is_(None))
                .values(
                    active=workflow_id,
                    status="running",
                    segments=json.dumps(segments),
                    interrupted=interrupted,
                )
            )
            if self._update_row(change):
                place = run_id, workflow_id, row.events, row.plan, segments
                return Claimed(*place, interrupted, again, json.loads(row.trace))
        return None

    def release_run(
        self, claimed: Claimed, status: Status, events: int, inbox_read: int, **values: object
    ) -> bool:
        """Let go of a run; ``False`` if something was said that it has not heard."""
        own = RUNS.c.run_id == claimed.run_id
        row = {"outcome": "", "waits_for": "[]", "problem": "", **values}
        change = (
            sa.update(RUNS)
            .where(own, RUNS.c.active == claimed.workflow_id)
            .values(active=None, status=status, events=events, **row)
        )
        if status in {"waiting", "ended"}:
            change = change.where(RUNS.c.said == inbox_read)

        def release_run(connection: sa.Connection) -> bool:
            # An earlier attempt may have been committed, and its answer lost; then the run was let go.
            if not connection.execute(change).rowcount:
                left = connection.execute(sa.select(RUNS.c.active).where(own)).scalar()
                return bool(left != claimed.workflow_id)
            if status == "queued":
                self.queue_segment(connection, claimed.run_id)
            return True

        return self.in_transaction(release_run)

    def queue_segment(self, connection: sa.Connection, run_id: str) -> None:
        counted = (
            sa.update(RUNS)
            .where(RUNS.c.run_id == run_id)
            .values(wakeups=RUNS.c.wakeups + 1)
            .returning(RUNS.c.wakeups, RUNS.c.queue)
        )
        row = connection.execute(counted).one()
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": row.queue,
            "workflow_id": f"{run_id}~{row.wakeups}",
        }
        self.client.enqueue_in_transaction(connection, options, run_id)

    def add_to_inbox(self, run_id: str, event: Event, token: str, answers: str = "") -> bool:
        """Write down what is said to a run, and queue a segment that hears it.

        Returns ``False`` if it comes too late: the run has ended and this cancels it, it does not wait for
        this decision (any more), or it was deleted.

        :param token: the same where it is said again, since the answer to an earlier attempt was lost
        :param answers: the fingerprint of the effect that a decision is about
        """
        text, changed = canonical(encode(event)), sa.update(RUNS).where(RUNS.c.run_id == run_id)
        if answers:
            changed = changed.where(RUNS.c.status == "waiting", RUNS.c.waits_for.contains(answers))
        elif isinstance(event, CancelRequested):
            changed = changed.where(RUNS.c.status != "ended")
        # Counting locks the row, so that each entry has a number of its own.
        counted = changed.values(
            said=RUNS.c.said + 1, status=sa.case((RUNS.c.active.is_(None), "queued"), else_=RUNS.c.status)
        ).returning(RUNS.c.said)

        def insert(connection: sa.Connection) -> bool:
            n = connection.execute(counted).scalar()
            if n is None:
                earlier = sa.select(INBOX.c.n).where(INBOX.c.token == token)
                return connection.execute(earlier).first() is not None
            row = {"run_id": run_id, "n": n, "token": token, "answers": answers, "event": text}
            if insert_if_missing(connection, INBOX, row):
                self.queue_segment(connection, run_id)
            else:  # an earlier attempt was committed, and is not counted again
                connection.rollback()
            return True

        return self.in_transaction(insert)

    def inbox_after(self, run_id: str, n: int) -> Sequence[InboxEntry]:
        query: Any = (
            sa.select(INBOX.c.n, INBOX.c.event, INBOX.c.answers)
            .where(INBOX.c.run_id == run_id, INBOX.c.n > n)
            .order_by(INBOX.c.n)
        )
        return [
            InboxEntry(row.n, decode_event(value_or_failure(read_json(row.event))), row.answers)
            for row in self.rows_of_query(query)
        ]

    def stored_steps(self, segments: Iterable[Segment]) -> Sequence[StoredStep]:
        every = (*segments,)
        return self._with_retries(
            lambda: [
                cast("StoredStep", step["output"])
                for segment in every
                for step in self.client.list_workflow_steps(segment.workflow_id)
                if segment.steps is None or step["function_id"] in segment.steps
            ]
        )

    def step_names(self, workflow_id: str) -> Sequence[str]:
        steps = self._with_retries(lambda: self.client.list_workflow_steps(workflow_id, load_output=False))
        return [step["function_name"] for step in steps]

    def adopt_runs(self, executor: str, *, but_of: str | None = None) -> Sequence[str]:
        """Queue the runs that a slot has left, and return their ids; the caller holds the slot.

        Its worker does not come back, or comes back as another release. What is stored of the runs counts,
        and nothing that their worker may still store if it is not dead.

        :param but_of: the release whose runs DBOS resumes automatically
        """
        left = self.client.list_workflows(
            status="PENDING", name=WORKFLOW, executor_id=executor, load_input=False, load_output=False
        )
        gone = [each.workflow_id for each in left if but_of is None or each.app_version != but_of]
        return [run_id for workflow_id in gone if (run_id := self._take_over_run(workflow_id))]

    def _take_over_run(self, workflow_id: str) -> str | None:
        self.client.cancel_workflow(workflow_id)  # its worker, if it lives, stops at its next step
        steps = self.client.list_workflow_steps(workflow_id, load_output=False)
        stored = Segment(workflow_id, tuple(step["function_id"] for step in steps))
        with self.engine.begin() as connection:
            row = connection.execute(sa.select(RUNS).where(RUNS.c.active == workflow_id)).first()
            if row is None:
                run_id = workflow_id.rpartition("~")[0]
                # It had not begun; another segment hears what it was to hear.
                self.queue_segment(connection, run_id)
                return run_id
            segments = [
                stored if each.workflow_id == workflow_id else each for each in parse_segments(row.segments)
            ]
            connection.execute(
                sa.update(RUNS)
                .where(RUNS.c.run_id == row.run_id, RUNS.c.active == workflow_id)
                .values(
                    active=None,
                    status="queued",
                    segments=json.dumps(segments),
                    interrupted=RUNS.c.interrupted + 1,
                )
            )
            self.queue_segment(connection, row.run_id)
            return str(row.run_id)

    def prune(self, before_ms: int) -> int:
        ended = RUNS.c.status == "ended", RUNS.c.updated_at < before_ms
        query: Any = sa.select(RUNS.c.run_id, RUNS.c.wakeups).where(*ended).limit(_BATCH)
        deleted = 0
        while found := self.rows_of_query(query):
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
        self.client.destroy()
        close_database(self.engine)

    def _with_retries(self, attempt: Callable[[], _Result]) -> _Result:
        return retry_lost_connection(attempt, self._give_up_after)
