"""What is made from the results: figures, tables, the picture, and the part of the docs."""

from __future__ import annotations

import pytest

from benchmarks.peers.page import IN_DOCS, PAGE, PICTURE, page
from benchmarks.peers.plot import plot
from benchmarks.peers.results import Results
from benchmarks.peers.table import cpu_table
from benchmarks.shared.environment import ROOT


@pytest.fixture(scope="module")
def results() -> Results:
    return Results.load()


def test_the_docs_have_the_table_that_the_data_gives(results: Results) -> None:
    assert IN_DOCS.between((ROOT / "docs" / "compare.md").read_text("utf-8")) == cpu_table(results)


def test_the_page_and_the_picture_are_those_that_the_data_gives(results: Results) -> None:
    assert PAGE.read_text("utf-8") == page(results)
    assert PICTURE.read_text("utf-8") == plot(results)
