"""The tables in which processes share what an account has left, and the clock of their database."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event

_BUSY_SECONDS: Final = 60
"""How long SQLite waits for another process's transaction."""
_METADATA: Final = sa.MetaData()

ACCOUNTS: Final = sa.Table(
    "toolreel_limits_accounts",
    _METADATA,
    sa.Column("account", sa.String, primary_key=True),
    sa.Column("clock", sa.Float, nullable=False),  # the latest time that was read: time never runs backwards
    sa.Column("blocked_until", sa.Float, nullable=False),  # by a Retry-After
    sa.Column("spent", sa.Float, nullable=False),
)
TICKETS: Final = sa.Table(
    "toolreel_limits_tickets",
    _METADATA,
    # SQLite increments only an INTEGER key automatically.
    sa.Column(
        "ticket", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
    ),
    sa.Column("account", sa.String, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("alive_until", sa.Float, nullable=False),  # when a waiting process counts as gone
    sa.Column("started_at", sa.Float),  # NULL while it waits
    sa.Column("settled", sa.Boolean, nullable=False),
    sa.Index("toolreel_limits_by_start", "account", "started_at"),
    sqlite_autoincrement=True,
)

_CLOCKS: Final = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}


def opened(database: str | Path) -> sa.Engine:
    """An engine over the database, with its tables made.

    :param database: a SQLite file, or a URL
    """
    engine = sa.create_engine(_url(database), **_arguments(_url(database)))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _connected)
        event.listen(engine, "begin", _began)
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # Two processes that make a table at the same time would both fail to find it.
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('toolreel_limits'))"))
        _METADATA.create_all(connection)
    return engine


def seconds_now(connection: sa.Connection) -> float:
    """The time of the database, in seconds."""
    return float(connection.execute(sa.text(_CLOCKS[connection.dialect.name])).scalar_one())


def _url(database: str | Path) -> str:
    given = str(database)
    for scheme in ("postgresql://", "postgres://"):
        if given.startswith(scheme):
            return f"postgresql+psycopg://{given.removeprefix(scheme)}"
    return given if "://" in given else f"sqlite:///{given}"


def _arguments(url: str) -> dict[str, Any]:
    if url.startswith("sqlite"):
        return {"connect_args": {"timeout": _BUSY_SECONDS}}
    return {"pool_pre_ping": True}


def _connected(connection: Any, _: object) -> None:  # noqa: ANN401 - of sqlite3, through SQLAlchemy
    # Without this, sqlite3 begins a transaction implicitly, and too late to be the only writer.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")


def _began(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
