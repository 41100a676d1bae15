"""A row that another program wrote into the database is not executed."""

from __future__ import annotations

import base64
import logging
import pickle
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from dbos._schemas.system_database import SystemSchema

from toolreel import Plan, Ports
from toolreel.durable import DurableRuns, Worker, close_database, database_url, open_database
from toolreel.errors import DurableError
from toolreel.testing import ScriptedEndpoint, saying

PLAN = Plan.of(model="m", messages="Hello!")


class Touch:
    """To unpickle one creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def poison(database: str, table: sa.Table, column: str, path: Path) -> None:
    """Store a pickle in a column of all rows, as somebody can who may write to the database."""
    text = base64.b64encode(pickle.dumps(Touch(path))).decode()
    engine = open_database(database_url(database))
    schema = None if engine.dialect.name == "sqlite" else "dbos"
    where = engine.execution_options(schema_translate_map={table.schema: schema})
    with where.begin() as connection:
        changed = connection.execute(sa.update(table).values({column: text, "serialization": "py_pickle"}))
        assert changed.rowcount > 0
    close_database(engine)


def performed(database: str) -> None:
    """A run that has been performed, and another that waits for a worker."""
    with DurableRuns(database) as runs:
        runs.submit(PLAN, "done")
        with Worker(Ports(ScriptedEndpoint([saying("Hi!")])), database, poll_seconds=0.02):
            runs.wait("done", 300, poll_seconds=0.02)
        runs.submit(PLAN, "queued")


def test_a_pickled_step_is_refused(database: str, tmp_path: Path) -> None:
    performed(database)
    poison(database, SystemSchema.operation_outputs, "output", tmp_path / "executed")
    with DurableRuns(database) as runs, pytest.raises(DurableError, match="serialized as 'py_pickle'"):
        runs.get("done")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("column", ["inputs", "output", "error"])
def test_a_worker_refuses_a_pickled_workflow(
    database: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
) -> None:
    performed(database)
    monkeypatch.setattr(logging.getLogger("dbos"), "propagate", True)  # the first DBOS of a process unsets it
    poison(database, SystemSchema.workflow_status, column, tmp_path / "executed")
    refused = "queued~1: database: a row is serialized as 'py_pickle'"
    with Worker(Ports(ScriptedEndpoint([saying("Hi!")])), database, poll_seconds=0.02):
        deadline = time.monotonic() + 60
        while refused not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.02)
    assert refused in caplog.text
    assert not (tmp_path / "executed").exists()
