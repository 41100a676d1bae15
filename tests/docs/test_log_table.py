"""The table of loggers says what the code logs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.docs.log_table import OTHERS, PAGE, written
from tests.docs.snippets import ROOT


def calls() -> Iterator[tuple[str, str, str]]:
    """Each record that is logged by name: its concern, its level if the code has it as a word, its event."""
    for path in (ROOT / "adapters").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Name("log"), [ast.Constant(concern), level, ast.Constant(event), *_]):
                    yield (
                        str(concern),
                        str(level.value) if isinstance(level, ast.Constant) else "",
                        str(event),
                    )
                case _:
                    pass


def test_the_page_has_the_table_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "python -m tests.docs.log_table"


def test_every_record_that_is_no_note_is_in_the_table_and_no_other() -> None:
    listed = {(concern, event) for concern, _, event, _ in OTHERS}
    found = {(concern, event) for concern, _, event in calls()}
    assert found | {("tools", "error"), ("proxy", "error")} == listed
    for concern, level, event in calls():
        assert not level or (concern, level, event) in {row[:3] for row in OTHERS}
