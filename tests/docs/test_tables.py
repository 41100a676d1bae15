"""What the tables on the pages, which test_document.py compares, have to say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from typing import get_args

from tests.architecture.source import ADAPTERS, ROOT
from toolreel.evals import built_in_scenarios, scenario_groups
from toolreel_core._replies import ArgumentErrorCode, ProblemCode, WarningCode
from toolreel_core._tools import FaultCode

DOCS = ROOT / "docs"
CODES = set(chain.from_iterable(map(get_args, (WarningCode, ProblemCode, ArgumentErrorCode, FaultCode))))


def meanings(page: str) -> dict[str, str]:
    """Each name of a page's tables of two columns, with what it means."""
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", page, re.MULTILINE))


def test_every_name_has_a_meaning() -> None:
    found = meanings((DOCS / "codes.md").read_text("utf-8"))
    assert found.keys() >= CODES
    assert all(meaning.endswith(".") and len(meaning) > 10 for meaning in found.values())


def test_every_code_of_a_host_is_listed() -> None:
    """Tool hosts are adapters: the core takes any code from them, and their table is written by hand."""
    page = (DOCS / "codes.md").read_text("utf-8")
    used = {code for path in (ADAPTERS / "tools").rglob("*.py") for code in _codes(path.read_text("utf-8"))}
    listed = meanings(page.partition("## Tool errors of hosts")[2]).keys()
    assert listed <= used <= CODES | listed


def _codes(source: str) -> Iterator[str]:
    """Texts that look like the code of a tool error."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if re.fullmatch(r"(TOOL|ARGUMENTS?|INTERNAL)(_[A-Z]+)+", text):
                yield text
            case _:
                pass


def test_every_check_of_a_scenario_is_explained_and_every_pack_of_production_named() -> None:
    page = (DOCS / "evals" / "scenarios.md").read_text("utf-8")
    used = {check.name for one in built_in_scenarios() for check in one.begin("1").checks} - {"answer"}
    assert meanings(page.partition("## Checks")[2]).keys() == used
    packs = {one.pack for one in built_in_scenarios() if one.name in scenario_groups()["production"]}
    assert all(f"`{pack}`" in page.partition("## Scenarios")[0] for pack in packs)
