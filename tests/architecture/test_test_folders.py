"""Tests lie in the folders of what they test, so that a package's own tests can be found and run alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.source import ADAPTERS, DOMAIN, ROOT


def folders(package: Path) -> set[str]:
    """The folders of a package that hold modules, without the underscore of private ones."""
    found = {path.parent.relative_to(package) for path in package.rglob("*.py")}
    return {"/".join(part.lstrip("_") for part in folder.parts) for folder in found}


@pytest.mark.parametrize(("package", "tests"), [(DOMAIN, "domain"), (ADAPTERS, "adapters")])
def test_every_folder_of_tests_is_that_of_a_package(package: Path, tests: str) -> None:
    home = ROOT / "tests" / tests
    tested = {str(path.parent.relative_to(home)) for path in home.rglob("test_*.py")} - {"."}
    assert sorted(tested - folders(package)) == []


def test_every_package_of_the_core_has_tests() -> None:
    home = ROOT / "tests" / "domain"
    missing = [folder for folder in folders(DOMAIN) if not (home / folder).is_dir()]
    assert sorted(missing) == []
