"""What toolreel keeps next to the tables of DBOS: one row a run, and one for each thing said to it.

The effects of a run are steps of DBOS; here stand its plan, written once, and who works on it.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

import sqlalchemy as sa

from toolreel._internal import DurableError, check_version

METADATA: Final = sa.MetaData()
_LOCK: Final = 7_236_110_522
"""The advisory lock under which PostgreSQL's tables are made."""
_VERSION: Final = 1

RUNS: Final = sa.Table(
    "toolreel_runs",
    METADATA,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("queue", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("plan", sa.Text, nullable=False),  # the first lines of the journal: header and blobs
    sa.Column("digest", sa.Text, nullable=False),  # of the plan
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False, server_default=""),
    sa.Column("problem", sa.Text, nullable=False, server_default=""),
    sa.Column("waits_for", sa.Text, nullable=False, server_default="[]"),
    sa.Column("events", sa.Integer, nullable=False, server_default="0"),
    sa.Column("active", sa.Text),  # the segment that works on it; none where nobody does
    sa.Column("segments", sa.Text, nullable=False, server_default="[]"),  # those that have, in order
    sa.Column("wakeups", sa.Integer, nullable=False, server_default="0"),  # segments that were queued
    sa.Column("said", sa.Integer, nullable=False, server_default="0"),  # rows of the inbox
    sa.Column("wake_at", sa.BigInteger, nullable=False, server_default="0"),  # when a wait is over, in ms
    sa.Column("interrupted", sa.Integer, nullable=False, server_default="0"),  # times its worker died
    sa.Column("trace", sa.Text, nullable=False, server_default="{}"),  # headers of its submitter's trace
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Index("toolreel_runs_by_age", "created_at"),
    sa.Index("toolreel_runs_by_status", "status", "created_at"),
)

INBOX: Final = sa.Table(
    "toolreel_inbox",
    METADATA,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("n", sa.Integer, primary_key=True),
    sa.Column("token", sa.Text, nullable=False, unique=True),  # so that a repeated insert is noticed
    sa.Column("answers", sa.Text, nullable=False, server_default=""),  # the fingerprint of an effect
    sa.Column("event", sa.Text, nullable=False),
)

_SCHEMA: Final = sa.Table(
    "toolreel_schema",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("dbos", sa.Text, nullable=False),
)


def is_current(engine: sa.Engine) -> bool:
    """Whether all tables are there, ours and those of the installed DBOS.

    :raises DurableError: if ours have another version
    """
    if not sa.inspect(engine).has_table(_SCHEMA.name):
        return False
    with engine.begin() as connection:
        found = connection.execute(sa.select(_SCHEMA.c.version, _SCHEMA.c.dbos)).one()
    what = f"database: {engine.url.render_as_string()} has tables"
    check_version(found.version, _VERSION, what, "name another database", DurableError)
    return bool(found.dbos == version("dbos"))


def create_tables(engine: sa.Engine) -> None:
    """Create what is missing, once those of DBOS are there; several processes may try at once."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(sa.text("BEGIN IMMEDIATE"))
        else:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        METADATA.create_all(connection)
        connection.execute(sa.delete(_SCHEMA))
        connection.execute(sa.insert(_SCHEMA).values(version=_VERSION, dbos=version("dbos")))
