from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from tests.adapters.durable.shop import execute
from tests.samples import complaint
from toolreel._internal import DurableError
from toolreel.durable import DurableRuns, close_database, database_url, open_database


def test_a_connection_that_is_in_use_is_closed_once_it_is_not(database: str) -> None:
    engine = open_database(database_url(database))
    with engine.connect() as connection:
        held = connection.connection.dbapi_connection
        close_database(engine)
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1
    assert held is not None
    assert is_closed(held)


def test_a_database_of_another_version_is_refused_with_the_remedy(database: str) -> None:
    execute(database, "UPDATE toolreel_schema SET version = 2")
    told = complaint(DurableError, lambda: DurableRuns(database))
    assert told.startswith("database: ")
    assert told.endswith(" has tables of version 2; this toolreel reads version 1: name another database")


def is_closed(held: Any) -> bool:  # noqa: ANN401 - psycopg's or SQLite's
    """Whether a connection of psycopg or of SQLite takes nothing any more."""
    try:
        held.cursor().execute("SELECT 1")
    except Exception:  # noqa: BLE001 - each driver has an error of its own
        return True
    return False
