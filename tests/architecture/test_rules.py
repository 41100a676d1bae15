from __future__ import annotations

import ast
import re
from typing import get_args

from tests.architecture.source import ROOT
from toolreel_core._protocol import Note, Outcome

LOOP = ROOT / "tests" / "domain" / "loop"
CONTRACT = (
    LOOP / "test_contract.py",
    LOOP / "output" / "test_final_output.py",
    LOOP / "context" / "test_conversations_with_summaries.py",
    LOOP / "checks" / "test_conversations_with_checks.py",
    LOOP / "checks" / "test_conversations_with_withheld_tools.py",
    LOOP / "endpoints" / "test_next_endpoint.py",
)


def test_the_page_names_every_test_of_the_contract_beside_its_rule() -> None:
    bodies = [ast.parse(page.read_text("utf-8")).body for page in CONTRACT]
    written = [node.name for body in bodies for node in body if isinstance(node, ast.FunctionDef)]
    page = (LOOP / "RULES.md").read_text("utf-8")
    named = re.findall(r"`(test_\w+)`", page)
    assert sorted(named) == sorted(name for name in written if name.startswith("test_"))
    # every row of the table, below its head, shows a test
    assert [row for row in re.findall(r"^\| .*", page, re.MULTILINE)[1:] if "`test_" not in row] == []


def test_a_conversation_reaches_every_outcome_and_every_note() -> None:
    pages = [ast.parse(page.read_text("utf-8")) for page in LOOP.rglob("test_*.py")]
    named = {node.id for page in pages for node in ast.walk(page) if isinstance(node, ast.Name)}
    members = {kind.__name__ for kind in (*get_args(Outcome), *get_args(Note))}
    assert members - named == set()
