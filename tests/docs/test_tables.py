"""The tables on the pages are those of the code, and say all that there is to say."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from tests.docs import codes_page, forms_table, log_table
from tests.docs.codes_page import HOST_CODES, ROOT
from tests.docs.settings_tables import PAGES_WITH_SETTINGS, written
from toolreel_core._replies import ArgumentErrorCode, ProblemCode, WarningCode
from toolreel_core._tools import FaultCode

GENERATED: Mapping[str, tuple[Path, Callable[[str], str]]] = {
    "codes_page": (codes_page.PAGE, lambda _: codes_page.page()),
    "forms_table": (forms_table.PAGE, lambda _: forms_table.page()),
    "log_table": (log_table.PAGE, log_table.written),
    **{f"settings_tables on {page.stem}": (page, written) for page in PAGES_WITH_SETTINGS},
}
CODES = set(chain.from_iterable(map(get_args, (WarningCode, ProblemCode, ArgumentErrorCode, FaultCode))))
HOSTS = ROOT / "adapters" / "toolreel" / "tools"


@pytest.mark.parametrize("name", GENERATED)
def test_a_table_is_what_the_code_says(name: str) -> None:
    page, made = GENERATED[name]
    text = page.read_text("utf-8")
    assert text == made(text), f"write it with `python -m tests.docs.{name.partition(' ')[0]}`"


def test_every_name_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", codes_page.page(), re.MULTILINE)
    assert {name for name, _ in rows} >= CODES
    assert all(meaning.endswith(".") and len(meaning) > 10 for _, meaning in rows)


def test_every_code_of_a_host_is_listed() -> None:
    used = set(chain.from_iterable(_codes(path.read_text("utf-8")) for path in HOSTS.rglob("*.py")))
    assert used <= CODES | HOST_CODES.keys()
    assert used >= HOST_CODES.keys()


def _codes(source: str) -> Iterator[str]:
    """Texts that look like the code of a tool error."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if re.fullmatch(r"(TOOL|ARGUMENTS?|INTERNAL)(_[A-Z]+)+", text):
                yield text
            case _:
                pass
