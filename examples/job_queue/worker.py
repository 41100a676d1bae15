"""Runs as jobs in PostgreSQL: any number of workers, and each step of a run is performed by one of them.

A worker takes a job with ``FOR UPDATE SKIP LOCKED`` and holds the row while it performs the pending effects,
so that no other worker acts. If it dies, PostgreSQL releases the row, and the next worker repeats the step,
with the same key for each tool call. ``DATABASE`` is the database, ``TOOLREEL_BASE_URL`` the model's server::

    python worker.py "Order 4 pins."     # adds a job
    python worker.py                     # works until no job is left
"""

from __future__ import annotations

import os
import sys

import psycopg

from toolreel import Plan, Ports, PythonTools, RunContext, perform
from toolreel.http import HttpEndpoint
from toolreel_core import dump, load_state, pending, start, step

TABLES = """
CREATE SEQUENCE IF NOT EXISTS job_ids;
CREATE TABLE IF NOT EXISTS jobs (
    id bigint PRIMARY KEY,
    state text NOT NULL,
    step integer NOT NULL,
    outcome text
);
CREATE TABLE IF NOT EXISTS orders (key text PRIMARY KEY, part text NOT NULL, count integer NOT NULL)
"""

TAKE = "SELECT id, state FROM jobs WHERE outcome IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
STORE = "UPDATE jobs SET state = %s, step = %s, outcome = %s WHERE id = %s AND step = %s"


def connected() -> psycopg.Connection:
    """A connection of this thread's own."""
    return psycopg.connect(os.environ["DATABASE"], autocommit=True)


def order(part: str, count: int, context: RunContext[None]) -> str:
    """Order parts."""
    # A repeated call has the same key, so a part is ordered once, whatever happens to the worker.
    with connected() as database:
        database.execute(
            "INSERT INTO orders VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", [context.key, part, count]
        )
    return f"{count} {part} ordered"


tools = PythonTools([order])


def submit(database: psycopg.Connection, prompt: str) -> None:
    """Add a job."""
    for (job,) in database.execute("SELECT nextval('job_ids')"):
        # The keys of calls follow from the plan: with a seed of its own, an equal job has other keys.
        plan = Plan.of(model="your-model", messages=prompt, tools=tools.surface, seed=job)
        state = start(plan).state
        database.execute(
            "INSERT INTO jobs (id, state, step) VALUES (%s, %s, %s)", [job, dump(state), state.step_number]
        )


def work_once(database: psycopg.Connection, ports: Ports) -> bool:
    """Perform what one run waits for; whether there was one that nobody else had."""
    with database.transaction():
        job = database.execute(TAKE).fetchone()
        if job is None:
            return False
        before = state = load_state(job[1])
        for effect in pending(state):
            event = perform(effect, ports)
            if event is not None:
                state = step(state, event).state
        outcome = state.outcome.name if state.outcome else None
        database.execute(STORE, [dump(state), state.step_number, outcome, job[0], before.step_number])
    return True


def main() -> None:
    """Add a job, or work."""
    with connected() as database:
        database.execute(TABLES)
        if sys.argv[1:]:
            submit(database, sys.argv[1])
            return
        with HttpEndpoint(os.environ["TOOLREEL_BASE_URL"]) as endpoint:
            while work_once(database, Ports(endpoint, tools)):
                pass


if __name__ == "__main__":
    main()
