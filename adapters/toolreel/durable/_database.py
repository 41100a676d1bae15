"""The tables of durable runs, next to those of DBOS."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

import sqlalchemy as sa
from dbos import DBOS, DBOSPortableJSONSerializer
from dbos import _error as dbos_error
from dbos._schemas.system_database import SystemSchema
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql, sqlite

from toolreel._internal import DurableError, MissingExtra, check_format_version

# Engines over a database: SQLite in a file by default, or PostgreSQL by its URL.


DATABASE_VARIABLE = "TOOLREEL_DATABASE_URL"
_LOCK = 7_236_110_522
"""The advisory lock under which PostgreSQL's tables are made."""
DEFAULT_DATABASE = "sqlite:///toolreel.db"
# How long a writer of SQLite waits for its turn: the minute for which ``retry_lost_connection`` goes on.
_BUSY_MS = 60_000

_Result = TypeVar("_Result")


def database_url(given: str | None, environ: Mapping[str, str] = os.environ) -> sa.URL:
    """The URL that is given, else that of the environment, else the default.

    :raises DurableError: unless it is a URL of SQLite in a file or of PostgreSQL
    """
    text = given or environ.get(DATABASE_VARIABLE) or DEFAULT_DATABASE
    try:
        url = sa.make_url(text)
    except exc.ArgumentError:
        raise DurableError(f"database: {_redact_url(text)} is not a URL; {_EXAMPLES}") from None
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:":
            return url
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise DurableError(f"database: {other} is not supported, nor SQLite in memory; {_EXAMPLES}")


_EXAMPLES = "write sqlite:///runs.db or postgresql://user@host/database"


def new_engine(url: sa.URL, connections: int) -> sa.Engine:
    is_sqlite = url.get_backend_name() == "sqlite"
    if is_sqlite and not (folder := Path(str(url.database)).parent).is_dir():
        raise DurableError(f"database: there is no folder {folder}; create it first")
    # The server may have restarted since a connection went back to the pool; a file cannot.
    engine = sa.create_engine(
        url, pool_size=connections, max_overflow=connections, pool_timeout=60, pool_pre_ping=not is_sqlite
    )
    if is_sqlite:
        event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401 - a connection of the driver
    # As on the engines of DBOS, which works on this one too. With IMMEDIATE, a writer waits for its turn
    # instead of failing at its end.
    connection.isolation_level = "IMMEDIATE"
    connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")


@contextmanager
def exclusive_transaction(engine: sa.Engine) -> Generator[sa.Connection]:
    """A transaction next to which no other process creates tables."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(sa.text("BEGIN IMMEDIATE"))
        else:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        yield connection


def insert_if_missing(connection: sa.Connection, table: sa.Table, row: Mapping[str, object]) -> bool:
    """Insert a row; returns ``False`` if there is one with its key already."""
    # Only the dialects have ``on_conflict_do_nothing``, both under this name.
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    inserting = dialect.insert(table).values(row).on_conflict_do_nothing()
    return bool(connection.execute(inserting).rowcount)


def close_database(engine: sa.Engine) -> None:
    """Close all connections: ``dispose`` alone leaves those open that a thread is still using."""

    def closed(_: object, record: sa.pool.ConnectionPoolEntry) -> None:
        record.invalidate()

    event.listen(engine, "checkin", closed)
    engine.dispose()


CONNECTION_LOST = (exc.OperationalError, exc.InterfaceError, exc.InternalError)
"""Raised when the database is away: it restarts, or SQLite is busy."""


def retry_lost_connection(attempt: Callable[[], _Result], give_up_after: float = 60.0) -> _Result:
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
                raise DurableError(f"database: it went away: {first_line_of_error(error)}") from error
        time.sleep(pause)
        pause = min(pause * 2, 1.0)


def first_line_of_error(error: BaseException) -> str:
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


def _redact_url(text: str) -> str:
    return repr(text.rpartition("@")[2])


METADATA = sa.MetaData()
_VERSION = 1

# Next to the tables of DBOS, in which the effects of a run are steps: one row a run, with its plan and who
# works on it, and one for each thing that was said to it.


def _text_column(name: str, default: str | None = None, *, unique: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default, unique=unique or None)


def _integer_column(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


RUNS = sa.Table(
    "toolreel_runs",
    METADATA,
    sa.Column("run_id", sa.Text, primary_key=True),
    _text_column("queue"),
    _text_column("model"),
    _text_column("plan"),  # the first lines of the journal: header and blobs
    _text_column("digest"),  # of the plan
    _text_column("status"),
    _text_column("outcome", ""),
    _text_column("problem", ""),
    _text_column("waits_for", "[]"),
    _integer_column("events"),
    sa.Column("active", sa.Text),  # the segment that works on it; none where nobody does
    _text_column("segments", "[]"),  # those that have, in order
    _integer_column("wakeups"),  # segments that were queued
    _integer_column("said"),  # rows of the inbox
    _integer_column("interrupted"),  # times its worker died
    _text_column("trace", "{}"),  # headers of its submitter's trace
    sa.Column("created_at", sa.BigInteger, nullable=False, default=now_ms),
    sa.Column("updated_at", sa.BigInteger, nullable=False, default=now_ms, onupdate=now_ms),
    sa.Index("toolreel_runs_by_age", "created_at"),
    sa.Index("toolreel_runs_by_status", "status", "created_at"),
)

INBOX = sa.Table(
    "toolreel_inbox",
    METADATA,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("n", sa.Integer, primary_key=True),
    _text_column("token", unique=True),  # so that a repeated insert is noticed
    _text_column("answers", ""),  # the fingerprint of an effect
    _text_column("event"),
)

_SCHEMA = sa.Table(
    "toolreel_schema",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("dbos", sa.Text, nullable=False),
)


def has_current_tables(engine: sa.Engine) -> bool:
    if not sa.inspect(engine).has_table(_SCHEMA.name):
        return False
    with engine.begin() as connection:
        found = connection.execute(sa.select(_SCHEMA.c.version, _SCHEMA.c.dbos)).one()
    what = f"database: {engine.url.render_as_string()} has tables"
    check_format_version(found.version, _VERSION, what, "name another database", DurableError)
    # Another release of DBOS may have to migrate its own tables.
    return bool(found.dbos == version("dbos"))


_OURS = WeakSet[sa.Dialect]()
"""The dialects of our engines; another DBOS in this process may store its rows as it likes."""
_SERIALIZATION = DBOSPortableJSONSerializer().name()


class _Serialization(sa.TypeDecorator[str]):
    """The column in which DBOS stores how the values of a row are serialized.

    DBOS obeys it, and unpickles, which executes, what a row says is pickled. So a row in any other
    serialization than ours is refused while it is fetched, before DBOS sees it.
    """

    impl = sa.Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        if value not in {None, _SERIALIZATION} and dialect in _OURS:
            raise DurableError(
                f"database: a row is serialized as {value!r}, which toolreel never writes; it was not read, "
                "since reading it may execute code. Another program wrote to this database: don't use it"
            )
        return value


for _table in SystemSchema.metadata_obj.tables.values():
    if "serialization" in _table.columns:
        _table.columns["serialization"].type = _Serialization()


@contextmanager
def _raising_durable_errors(url: sa.URL) -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingExtra.of("durable", str(error.name)) from None
    except (exc.SQLAlchemyError, dbos_error.DBOSException) as error:
        raise DurableError(
            f"database: {url.render_as_string()} cannot be used: {first_line_of_error(error)}"
        ) from None


def open_database(url: sa.URL, *, connections: int = 4) -> sa.Engine:
    """An engine for a database, whose tables are created where they are missing.

    :param connections: how many the engine keeps open
    """
    with _raising_durable_errors(url):
        engine = new_engine(url, connections)
        _OURS.add(engine.dialect)
        _create_tables(engine, url)
        return engine


def has_durable_tables(url: sa.URL) -> bool:
    """Whether a database has the tables of durable runs; nothing is created or changed."""
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        return False
    with _raising_durable_errors(url):
        engine = sa.create_engine(url)
        try:
            return has_current_tables(engine)
        finally:
            engine.dispose()


def _create_tables(engine: sa.Engine, url: sa.URL) -> None:
    """Create what is missing, first the tables of DBOS; several processes may try at once."""
    try:
        is_complete = has_current_tables(engine)
    except DurableError:
        engine.dispose()
        raise
    if not is_complete:
        DBOS.migrate(url.render_as_string(hide_password=False))
        with exclusive_transaction(engine) as connection:
            METADATA.create_all(connection)
            connection.execute(sa.delete(_SCHEMA))
            connection.execute(sa.insert(_SCHEMA).values(version=_VERSION, dbos=version("dbos")))
