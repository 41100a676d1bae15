"""Who works on a run: one segment at a time, which takes the run and lets go of it when nothing is left.

A run is performed in segments, each a workflow of DBOS: from its begin, or from the moment that something was
said to it, until it ends or rests. Whatever is said to a run is written down and queues a segment in the same
transaction. A segment that finds the run taken returns at once, since the one that has it lets go only if it
has heard everything. So nothing is lost, nothing waits in a worker, and no two workers act for one run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import sqlalchemy as sa
from dbos import DBOSClient, EnqueueOptions

from toolreel.durable._store.database import INBOX, RUNS
from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import CancelRequested, Event, encode

WORKFLOW: Final = "toolreel.run"
Status: TypeAlias = Literal["queued", "running", "waiting", "sleeping", "ended", "failed", "refused"]


class Segment(NamedTuple):
    """A workflow that has worked on a run."""

    workflow_id: str
    steps: tuple[int, ...] | None = None
    """The numbers of its steps that count; ``None`` for all. Of a dead worker's, those stored in time."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A run that a segment has taken."""

    run_id: str
    workflow_id: str
    events: int
    """Events when it rested last."""
    plan: str
    segments: tuple[Segment, ...]
    """All that have worked on it; the last one is this one."""
    wake_at: int
    """When the wait is over that it is in; 0 if it is in none that has begun."""
    interrupted: int
    """How many times a worker died on it since it last rested."""
    recovered: bool
    """Whether this segment has begun before, on a worker that died."""
    trace: Mapping[str, str]
    """The headers of its submitter's trace; empty without one."""


@dataclass(frozen=True, slots=True)
class Written:
    """What one step stores: lines of the journal, and how much of the inbox the run has heard."""

    lines: tuple[str, ...]
    inbox_read: int
    problem: str = ""
    """What went wrong in this program, if anything; then nothing was recorded."""

    def tree(self) -> dict[str, Json]:
        """As JSON."""
        tree: dict[str, Json] = {"heard": self.inbox_read, "lines": list(self.lines)}
        return {**tree, "problem": self.problem} if self.problem else tree

    @classmethod
    def of(cls, tree: object) -> Written:
        """From JSON."""
        stored = cast("Mapping[str, object]", tree)
        lines = cast("Sequence[str]", stored["lines"])
        return cls(tuple(lines), int(str(stored["heard"])), str(stored.get("problem", "")))


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """One thing that was said to a run."""

    n: int
    """Counted from 1."""
    event: Event
    answers: str = ""
    """The fingerprint of the effect that a decision is about; empty for what answers none."""


@dataclass(frozen=True, slots=True)
class Resting:
    """What a segment leaves behind."""

    status: Status
    events: int
    inbox_read: int
    outcome: str = ""
    waits_for: Sequence[dict[str, Any]] = ()
    problem: str = ""
    wake_at: int = 0
    """When its wait is over, if it is in one that has begun."""
    interrupted: int = 0

    @property
    def must_have_read_inbox(self) -> bool:
        """Whether it may rest only if nothing was said that it has not heard."""
        return self.status in {"waiting", "sleeping", "ended"}


def now_ms() -> int:
    """The time of this machine."""
    return time.time_ns() // 1_000_000


def segments_of(text: str) -> tuple[Segment, ...]:
    """The segments of a run's row."""
    return tuple(
        Segment(workflow_id, None if steps is None else tuple(steps))
        for workflow_id, steps in json.loads(text)
    )


def claim(engine: sa.Engine, run_id: str, workflow_id: str) -> Claimed | None:
    """Take a run; ``None`` if another segment has it, this one has let go of it, or it was deleted."""
    while True:
        with engine.connect() as connection:
            row = connection.execute(sa.select(RUNS).where(RUNS.c.run_id == run_id)).first()
        if row is None or row.active not in {None, workflow_id}:
            return None
        again = row.active == workflow_id
        segments = segments_of(row.segments)
        if not again:
            if workflow_id in {segment.workflow_id for segment in segments}:
                return None  # its worker died after the run rested, and before its workflow was over
            segments += (Segment(workflow_id),)
        interrupted = row.interrupted + again
        change = (
            sa.update(RUNS)
            .where(RUNS.c.run_id == run_id, RUNS.c.segments == row.segments)
            .where(RUNS.c.active == workflow_id if again else RUNS.c.active.is_(None))
            .values(
                active=workflow_id,
                status="running",
                segments=json.dumps(segments),
                interrupted=interrupted,
                updated_at=now_ms(),
            )
        )
        with engine.begin() as connection:
            if connection.execute(change).rowcount:
                place = run_id, workflow_id, row.events, row.plan, segments
                return Claimed(*place, row.wake_at, interrupted, again, json.loads(row.trace))


def release(engine: sa.Engine, client: DBOSClient, claimed: Claimed, rest: Resting) -> bool:
    """Let go of a run; ``False`` if something was said that it has not heard.

    May be repeated: a run that this segment no longer has was let go of before.
    """
    change = (
        sa.update(RUNS)
        .where(RUNS.c.run_id == claimed.run_id, RUNS.c.active == claimed.workflow_id)
        .values(
            active=None,
            status=rest.status,
            events=rest.events,
            outcome=rest.outcome,
            waits_for=json.dumps(list(rest.waits_for)),
            problem=rest.problem,
            wake_at=rest.wake_at,
            interrupted=rest.interrupted,
            updated_at=now_ms(),
        )
    )
    if rest.must_have_read_inbox:
        change = change.where(RUNS.c.said == rest.inbox_read)
    with engine.begin() as connection:
        if connection.execute(change).rowcount:
            if rest.status in {"queued", "sleeping"}:
                wake(connection, client, claimed.run_id, max(0, rest.wake_at - now_ms()))
            return True
        left = connection.execute(sa.select(RUNS.c.active).where(RUNS.c.run_id == claimed.run_id)).scalar()
    return left != claimed.workflow_id


def wake(connection: sa.Connection, client: DBOSClient, run_id: str, in_ms: int = 0) -> None:
    """Queue a segment for a run."""
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
    if in_ms:
        options["delay_seconds"] = in_ms / 1000
    client.enqueue_in_transaction(connection, options, run_id)


def tell(
    engine: sa.Engine, client: DBOSClient, run_id: str, event: Event, token: str, answers: str = ""
) -> None:
    """Write down what is said to a run, and queue a segment that hears it; an ended run is not cancelled."""
    cancels = isinstance(event, CancelRequested)
    counted = (
        sa.update(RUNS)
        .where(RUNS.c.run_id == run_id, RUNS.c.status != "ended" if cancels else sa.true())
        .values(
            said=RUNS.c.said + 1,
            status=sa.case((RUNS.c.active.is_(None), "queued"), else_=RUNS.c.status),
            updated_at=now_ms(),
        )
        .returning(RUNS.c.said)
    )
    with engine.begin() as connection:
        counts = connection.execute(counted).scalars().all()
        if cancels and not counts:
            return
        (n,) = counts
        if connection.execute(sa.select(INBOX.c.n).where(INBOX.c.token == token)).first() is not None:
            connection.rollback()  # it was said before: the answer to an earlier attempt was lost
            return
        row = {"run_id": run_id, "n": n, "token": token, "answers": answers}
        connection.execute(sa.insert(INBOX).values(**row, event=canonical(encode(event))))
        wake(connection, client, run_id)
