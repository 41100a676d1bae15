from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.plugin.project import Imported, Project, founded


@pytest.fixture
def imported(tmp_path: Path) -> Generator[Imported]:
    """Stands before ``pytester``, which forgets at its end whatever was imported meanwhile."""
    imported = Imported()
    yield imported
    imported.put_back(tmp_path.parent)


@pytest.fixture
def project(imported: Imported, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return founded(pytester, imported)


@pytest.fixture
def recorded(project: Project) -> Callable[[str], None]:
    """Records a module of tests with one session."""

    def record(source: str) -> None:
        project.tests(source)
        project.record().assert_outcomes(passed=1)

    return record
