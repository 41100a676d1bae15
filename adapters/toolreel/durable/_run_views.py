"""What is shown of durable runs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from toolreel._driver import Run
from toolreel._journal import Recorded
from toolreel._replay import retrace
from toolreel.durable._store.claims import Status


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

    def tree(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs."""

    run_id: str
    status: Status
    """``queued``, ``running``, ``waiting`` for somebody, ``sleeping`` until a retry, ``ended``, ``failed`` on
    an error of this program, or ``refused`` by a worker that cannot go on with it."""
    model: str
    queue: str
    events: int
    """Events that are recorded; counted when a run ends or rests."""
    outcome: str
    """The name of the outcome; empty while it has none."""
    problem: str
    """Why it failed or was refused."""
    waits_for: tuple[Awaited, ...]
    created: datetime
    updated: datetime

    @classmethod
    def of(cls, row: sa.Row[Any]) -> RunSummary:
        """From its row."""
        waits = tuple(Awaited(**each) for each in json.loads(row.waits_for))
        return cls(
            row.run_id,
            row.status,
            row.model,
            row.queue,
            row.events,
            row.outcome,
            row.problem,
            waits if row.status == "waiting" else (),
            _time(row.created_at),
            _time(row.updated_at),
        )


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


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
