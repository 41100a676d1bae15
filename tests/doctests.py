"""Doctests are looked for only where there are any.

With ``--doctest-modules`` alone, each process that runs tests imports all modules of the product and searches
all docstrings of the tests, to find them in one file of seven.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Drop the collector of doctests of a file that shows none."""
    found = yield
    if file_path.suffix != ".py" or b">>>" in file_path.read_bytes():
        return found
    return [each for each in found if type(each) is pytest.Module]
