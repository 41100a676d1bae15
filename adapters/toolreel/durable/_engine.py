"""Engines over a database: SQLite in a file by default, or PostgreSQL by its URL."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc

from toolreel._internal import DurableError

VARIABLE: Final = "TOOLREEL_DATABASE_URL"
_LOCK: Final = 7_236_110_522
"""The advisory lock under which PostgreSQL's tables are made."""
DEFAULT: Final = "sqlite:///toolreel.db"
_BUSY_MS: Final = 60_000

_Result = TypeVar("_Result")


def database_url(given: str | None, environ: Mapping[str, str] = os.environ) -> sa.URL:
    """The URL to use: the given one, else that of the environment, else SQLite in this folder.

    >>> database_url("postgres://db.example/runs", {}).render_as_string()
    'postgresql+psycopg://db.example/runs'

    :raises DurableError: if it is no URL of SQLite in a file or of PostgreSQL
    """
    text = given or environ.get(VARIABLE) or DEFAULT
    try:
        url = sa.make_url(text)
    except exc.ArgumentError:
        raise DurableError(f"database: {_shown(text)} is no URL; {_EXAMPLES}") from None
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:":
            return url
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case "sqlite":
            raise DurableError(f"database: SQLite in memory ends with its process; {_EXAMPLES}")
        case other:
            raise DurableError(f"database: {other} is not supported; {_EXAMPLES}")


_EXAMPLES: Final = "write sqlite:///runs.db or postgresql://user@host/database"


def engine_of(url: sa.URL, connections: int) -> sa.Engine:
    """An engine that keeps this many connections open.

    :raises DurableError: if there is no folder for a SQLite file
    """
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(
            url, pool_size=connections, max_overflow=connections, pool_timeout=60, pool_pre_ping=True
        )
    path = Path(str(url.database))
    if not path.parent.is_dir():
        raise DurableError(f"database: there is no folder {path.parent}; create it first")
    engine = sa.create_engine(url, pool_size=connections, max_overflow=connections, pool_timeout=60)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:  # noqa: ANN401 - a connection of the driver
        # IMMEDIATE as the engine of DBOS has it: a writer waits for its turn instead of failing at its end.
        connection.isolation_level = "IMMEDIATE"
        connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


@contextmanager
def exclusive(engine: sa.Engine) -> Generator[sa.Connection]:
    """A transaction next to which no other process creates tables."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(sa.text("BEGIN IMMEDIATE"))
        else:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        yield connection


def close_database(engine: sa.Engine) -> None:
    """Close the connections of an engine.

    ``dispose`` leaves those alone that a thread is still using, and they would stay open when it is done.
    """

    def closed(_: object, record: sa.pool.ConnectionPoolEntry) -> None:
        record.invalidate()

    event.listen(engine, "checkin", closed)
    engine.dispose()


CONNECTION_LOST: Final = (exc.OperationalError, exc.InterfaceError, exc.InternalError)
"""What is raised where the database went away: it restarts, or SQLite is busy."""


def retried(attempt: Callable[[], _Result], give_up_after: float = 60.0) -> _Result:
    """Do something with the database, again if it went away: it restarts, or SQLite is busy.

    :param attempt: may be repeated after it was committed, so it has to be idempotent
    :param give_up_after: seconds after which it gives up
    """
    since, pause = time.monotonic(), 0.02
    while True:
        try:
            return attempt()
        except CONNECTION_LOST as error:
            if time.monotonic() - since > give_up_after:
                raise DurableError(f"database: it went away: {first_line(error)}") from error
        time.sleep(pause)
        pause = min(pause * 2, 1.0)


def first_line(error: BaseException) -> str:
    """What a database says is wrong, in one line."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


def _shown(text: str) -> str:
    """What was given, without what may be a password."""
    return repr(text.rpartition("@")[2])
