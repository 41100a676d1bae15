"""``DurableRuns``: submit runs, look at them, and speak with them, from any process."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sa

from toolreel._driver import Run, current_trace_headers, user_message_event
from toolreel._internal import DurableError
from toolreel._journal import Recorded, parse_journal
from toolreel._replay import retrace
from toolreel._secrets import check_line_for_secrets
from toolreel._secrets import known_secrets as known_secrets_of
from toolreel.durable._database import RUNS, database_url, insert_if_missing, now_ms
from toolreel.durable._limited_endpoint import take_slot
from toolreel.durable._store import Status, Store, journal_text, parse_segments
from toolreel_core._conversation import Said
from toolreel_core._plan import Plan
from toolreel_core._protocol import ApprovalGiven, CancelRequested, Event, blob_lines, blobs_in, header_line


@dataclass(frozen=True, slots=True)
class Awaited:
    """A call that waits for somebody's decision."""

    name: str
    arguments: str
    """Exactly those with which the tool runs if it is approved, as JSON text."""
    why: str
    """``approval``, or ``uncertain`` for a call whose worker died while it ran."""
    fingerprint: str = field(repr=False)
    ref: int = 0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs."""

    run_id: str
    status: Status
    """``queued``, ``running``, ``waiting`` for somebody, ``ended``, ``failed`` on an error of this program,
    or ``refused`` by a worker that cannot go on with it."""
    model: str
    queue: str
    events: int
    """Events that are recorded; counted when a run ends or rests."""
    outcome: str
    """The name of the outcome; empty while it has none."""
    problem: str
    """Why it failed or was refused."""
    waits_for: tuple[Awaited, ...]
    """The call that waits for a decision, if one does."""
    created: datetime
    updated: datetime

    @classmethod
    def of(cls, row: sa.Row[Any]) -> RunSummary:
        """From its row."""
        waits = json.loads(row.waits_for) if row.status == "waiting" else ()
        calls = tuple(Awaited(**each) for each in waits)
        known = row.run_id, row.status, row.model, row.queue, row.events, row.outcome, row.problem
        return cls(*known, calls, _utc_time(row.created_at), _utc_time(row.updated_at))


@dataclass(frozen=True, slots=True)
class DurableRun:
    """A run with all that is recorded of it so far."""

    summary: RunSummary
    recorded: Recorded
    """Its journal: write ``recorded.text`` to a file, and each command for recorded runs reads it."""

    @property
    def run(self) -> Run:
        """Its state, notes and times.

        :raises toolreel.ReplayMismatch: if this release would do something else than what is recorded
        """
        return retrace(self.recorded).run

    @property
    def digest(self) -> str:
        """SHA-256 of its journal: equal for a run that nobody disturbed."""
        return self.recorded.digest


def _utc_time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


QUEUE = "toolreel"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")
"""The name of a run; ``~`` is between it and the number of a segment in the id of a workflow."""
_OVER = ("ended", "failed", "refused")


class DurableRuns:
    """The runs in a database; use it in a ``with`` block, or close it.

    Methods that take a run's id raise ``DurableError`` if there is no such run, or no decision to make.

    :param database: URL of SQLite (``sqlite:///runs.db``) or PostgreSQL; by default that in the environment
        variable ``TOOLREEL_DATABASE_URL``, else ``sqlite:///toolreel.db`` in this folder
    :param known_secrets: secret values by name, which must not be written; by default, those in the
        environment variables
    :raises DurableError: if the database cannot be used
    """

    def __init__(
        self, database: str | None = None, *, known_secrets: Mapping[str, str] | None = None
    ) -> None:
        self._url = database_url(database)
        self._store = Store(self._url)
        self._secrets = known_secrets_of(os.environ) if known_secrets is None else dict(known_secrets)

    def submit(self, plan: Plan, run_id: str | None = None, *, queue: str = QUEUE) -> str:
        """Queue a run, and return its id; a worker performs it.

        Submitting the same plan again under the same id does nothing.

        :param run_id: letters, digits, ``.``, ``_``, ``:`` and ``-``; by default, a random one
        :param queue: the queue of the workers that have the plan's tools
        :raises DurableError: if there is a run with this id and another plan
        :raises SecretFound: if the plan contains a secret
        """
        named = uuid.uuid4().hex[:16] if run_id is None else run_id
        if not _NAME.fullmatch(named):
            raise DurableError(f"run id {named!r}: write letters, digits, '.', '_', ':' and '-', at most 120")
        header = header_line(plan)
        check_line_for_secrets(header, self._secrets, "the plan", blobs_in(plan))
        row = {
            "run_id": named,
            "queue": queue,
            "model": plan.model,
            "plan": "".join(f"{line}\n" for line in (header, *blob_lines(plan).values())),
            "digest": plan.digest,
            "status": "queued",
            "trace": json.dumps(current_trace_headers()),
        }

        def insert(connection: sa.Connection) -> None:
            if insert_if_missing(connection, RUNS, row):
                self._store.queue_segment(connection, named)

        self._store.in_transaction(insert)
        if self._row(named).digest != plan.digest:
            raise DurableError(f"run {named}: there is one with another plan; submit it under another id")
        return named

    def list(self, *, status: str | None = None, limit: int = 100) -> Sequence[RunSummary]:
        """The runs, the newest first.

        :param status: only those with this status
        """
        query = sa.select(RUNS).order_by(RUNS.c.created_at.desc(), RUNS.c.run_id.desc()).limit(limit)
        if status is not None:
            query = query.where(RUNS.c.status == status)
        return [RunSummary.of(row) for row in self._store.rows_of_query(query)]

    def counts(self) -> dict[str, int]:
        """How many runs have which status."""
        query: Any = sa.select(RUNS.c.status, sa.func.count()).group_by(RUNS.c.status)
        rows: Any = self._store.rows_of_query(query)
        return dict(rows)

    def summary(self, run_id: str) -> RunSummary:
        """One run, without its events."""
        return RunSummary.of(self._row(run_id))

    def get(self, run_id: str) -> DurableRun:
        """One run with all its events."""
        row = self._row(run_id)
        text = journal_text(row.plan, self._store.stored_steps(parse_segments(row.segments)))
        return DurableRun(RunSummary.of(row), parse_journal(text, f"run {run_id}"))

    def wait(self, run_id: str, timeout: float | None = None, *, poll_seconds: float = 0.2) -> DurableRun:
        """Wait until a run has ended, or waits for somebody, and return it.

        :param timeout: seconds; then a ``TimeoutError``
        """
        since = time.monotonic()
        while (summary := self.summary(run_id)).status not in {*_OVER, "waiting"}:
            if timeout is not None and time.monotonic() - since > timeout:
                raise TimeoutError(f"run {run_id}: it is {summary.status} after {timeout:g} s")
            time.sleep(poll_seconds)
        return self.get(run_id)

    def speak(self, run_id: str, content: Said) -> None:
        """Say something to a run: its next request sends it, and after its end it begins the next exchange.

        :raises ConfigError: if the message is empty, or has a part that the provider is known not to take
        """
        plan = parse_journal(self._row(run_id).plan, f"run {run_id}").plan
        self._send(run_id, user_message_event(content, plan.provider))

    def cancel(self, run_id: str, reason: str = "") -> None:
        """Cancel a run as soon as the effect has ended that it is in; one that has ended stays as it is."""
        self._send(run_id, CancelRequested(reason))

    def approve(self, run_id: str) -> Awaited:
        """Approve the call that a run waits for, and return it."""
        return self._decide(run_id, approved=True, reason="")

    def deny(self, run_id: str, reason: str = "") -> Awaited:
        """Deny the call that a run waits for, and return it.

        :param reason: why; the model reads it
        """
        return self._decide(run_id, approved=False, reason=reason)

    def resume(self, run_id: str) -> None:
        """Queue a run again that failed or was refused, once what stopped it is mended.

        :raises DurableError: if there is no such run, or it does not rest
        """
        row = self._row(run_id)
        if row.status not in {"failed", "refused"}:
            raise DurableError(f"run {run_id}: it is {row.status}; only failed or refused runs are requeued")

        def again(connection: sa.Connection) -> None:
            change = sa.update(RUNS).where(RUNS.c.run_id == run_id, RUNS.c.status == row.status)
            if connection.execute(change.values(status="queued", problem="", interrupted=0)).rowcount:
                self._store.queue_segment(connection, run_id)

        self._store.in_transaction(again)

    def adopt(self, slot: str, *, queue: str = QUEUE) -> Sequence[str]:
        """Queue the runs again that a worker left which does not come back, and return their ids.

        :param slot: the name of the worker
        :param queue: its queue
        :raises DurableError: if a worker that is alive has it
        """
        held = take_slot(self._url, queue, slot)
        try:
            return self._store.adopt_runs(held.executor)
        finally:
            held.give_up()

    def prune(self, older_than_seconds: float) -> int:
        """Delete runs that ended so long ago, with all that is stored of them; returns how many."""
        return self._store.prune(now_ms() - round(older_than_seconds * 1000))

    def close(self) -> None:
        """Close the connections to the database."""
        self._store.close()

    def _decide(self, run_id: str, *, approved: bool, reason: str) -> Awaited:
        for call in self.summary(run_id).waits_for:
            if self._send(run_id, ApprovalGiven(call.ref, approved, reason), call.fingerprint):
                return call
        raise DurableError(f"run {run_id}: it is {self.summary(run_id).status}, and waits for no decision")

    def _send(self, run_id: str, event: Event, answers: str = "") -> bool:
        counts = self._store.add_to_inbox(run_id, event, uuid.uuid4().hex, answers)
        return counts or not self._row(run_id)  # which raises if there is no such run

    def _row(self, run_id: str) -> sa.Row[Any]:
        rows = self._store.rows_of_query(sa.select(RUNS).where(RUNS.c.run_id == run_id))
        if not rows:
            raise DurableError(f"run {run_id}: there is none in this database; see `toolreel durable list`")
        return rows[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
