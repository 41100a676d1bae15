from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.domain.text_calls.asking import ask, in_words
from toolreel_core._text_calls import BARE, DIALECTS, MARKED

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
"""Texts with what is read in them: each call as its id, if it has one, its name and its arguments."""
ROWS = [
    pytest.param(json.loads(line), id=f"{path.stem}-{number}")
    for path in (*sorted((CORPORA / "dialects").glob("*.jsonl")), CORPORA / "texts.jsonl")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]


def test_each_dialect_is_marked_or_bare() -> None:
    assert (*MARKED, *BARE) == DIALECTS
    assert len(set(DIALECTS)) == len(DIALECTS) == 51


@pytest.mark.parametrize("row", ROWS)
def test_a_text_is_read_as_its_row_says(row: dict[str, str]) -> None:
    read = ask(row["text"], row["enable"], row["finish"])
    assert in_words(read, row["text"]) == (row["calls"], row["content"], row["rejected"]), row["test"]
    assert read.reasoning == row.get("reasoning", read.reasoning), row["test"]
