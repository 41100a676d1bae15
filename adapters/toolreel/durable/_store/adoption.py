"""Takes up again what a worker left behind that does not come back, or comes back as another release."""

from __future__ import annotations

import json
from collections.abc import Sequence

import sqlalchemy as sa
from dbos import DBOSClient

from toolreel.durable._store.claims import WORKFLOW, Segment, now_ms, segments_of, wake
from toolreel.durable._store.tables import RUNS


def adopt(
    engine: sa.Engine, client: DBOSClient, executor: str, *, but_of: str | None = None
) -> Sequence[str]:
    """Queue the runs that a slot has left, and return their ids; the caller holds the slot.

    What is stored of them counts, and nothing that their worker may still store if it is not dead.

    :param but_of: the release whose runs DBOS resumes automatically
    """
    left = client.list_workflows(
        status="PENDING", name=WORKFLOW, executor_id=executor, load_input=False, load_output=False
    )
    gone = [each.workflow_id for each in left if but_of is None or each.app_version != but_of]
    return [run_id for workflow_id in gone if (run_id := _taken_over(engine, client, workflow_id))]


def _taken_over(engine: sa.Engine, client: DBOSClient, workflow_id: str) -> str | None:
    client.cancel_workflow(workflow_id)  # its worker, if it lives, stops at its next step
    steps = client.list_workflow_steps(workflow_id, load_output=False)
    stored = Segment(workflow_id, tuple(step["function_id"] for step in steps))
    with engine.begin() as connection:
        row = connection.execute(sa.select(RUNS).where(RUNS.c.active == workflow_id)).first()
        if row is None:
            run_id = workflow_id.rpartition("~")[0]
            wake(connection, client, run_id)  # it had not begun; another segment hears what it was queued for
            return run_id
        segments = [stored if each.workflow_id == workflow_id else each for each in segments_of(row.segments)]
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
        wake(connection, client, row.run_id)
        return str(row.run_id)
