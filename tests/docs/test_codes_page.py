from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from typing import get_args

from tests.docs.codes_page import HOST_CODES, PAGE, ROOT, page
from toolreel_core._replies import ArgumentErrorCode, ProblemCode, WarningCode
from toolreel_core._tools import FaultCode

CODES = set(chain.from_iterable(map(get_args, (WarningCode, ProblemCode, ArgumentErrorCode, FaultCode))))
HOSTS = ROOT / "adapters" / "toolreel" / "tools"


def test_the_page_is_what_the_sources_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it with `python -m tests.docs.codes_page`"


def test_every_name_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", page(), re.MULTILINE)
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
