"""A folder of the product is an overview: what is in it can be read at a glance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.source import ADAPTERS, DOMAIN

MOST = 16
"""Modules and folders in one folder, besides ``__init__.py``."""


def folders() -> list[Path]:
    """All but the two packages themselves, whose folders are the capabilities."""
    found = [each.parent for package in (DOMAIN, ADAPTERS) for each in sorted(package.rglob("__init__.py"))]
    return [folder for folder in found if folder not in {DOMAIN, ADAPTERS}]


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_folder_has_few_entries(folder: Path) -> None:
    found = {
        each.name for each in folder.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
    }
    assert len(found - {"__init__.py"}) <= MOST, sorted(found)
