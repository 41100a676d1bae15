"""Deletes runs that ended long ago."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from dbos import DBOSClient

from toolreel.durable._store.tables import INBOX, RUNS

_BATCH: Final = 200
"""Runs that one transaction deletes, so that none takes long."""


def prune(engine: sa.Engine, client: DBOSClient, before_ms: int) -> int:
    """Delete the runs that ended before a time, with their segments; returns how many."""
    deleted = 0
    while found := _ended(engine, before_ms):
        # First the segments: a deletion that is cut short is done again, as long as the run is there.
        client.delete_workflows([f"{run_id}~{n}" for run_id, wakeups in found for n in range(1, wakeups + 1)])
        names = [run_id for run_id, _ in found]
        with engine.begin() as connection:
            connection.execute(sa.delete(INBOX).where(INBOX.c.run_id.in_(names)))
            connection.execute(sa.delete(RUNS).where(RUNS.c.run_id.in_(names)))
        deleted += len(found)
    return deleted


def _ended(engine: sa.Engine, before_ms: int) -> list[tuple[str, int]]:
    query = (
        sa.select(RUNS.c.run_id, RUNS.c.wakeups)
        .where(RUNS.c.status == "ended", RUNS.c.updated_at < before_ms)
        .limit(_BATCH)
    )
    with engine.connect() as connection:
        return [(row.run_id, row.wakeups) for row in connection.execute(query)]
