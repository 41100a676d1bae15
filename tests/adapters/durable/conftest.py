"""The same tests on both databases: SQLite in a file, and a real PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.servers.postgres import Postgres, found, serving_postgres
from toolreel.durable import DurableRuns

__all__ = ["database", "postgres", "sqlite_template"]


@pytest.fixture(scope="session")
def postgres() -> Generator[Postgres]:
    programs = found()
    if programs is None:
        pytest.skip("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    with serving_postgres(programs) as server:
        DurableRuns(server.create()).close()  # tests_1, migrated once, is the template of all others
        yield server


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("durable") / "template.db"
    DurableRuns(f"sqlite:///{path}").close()
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database, with all tables."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return server.create("tests_1")
    shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "runs.db")
    return f"sqlite:///{tmp_path / 'runs.db'}"
