"""Calls as models write them as text, and the quotations in which they are only spoken of.

The texts are tests/corpora/written.jsonl. Their order is that by which kept inputs choose one.
"""

from __future__ import annotations

import json

from tests.fuzz.fragments import CORPORA
from toolreel_core._jsontext import JsonText

_ROWS: list[dict[str, str]] = [
    json.loads(line) for line in (CORPORA / "written.jsonl").read_text(encoding="utf-8").splitlines()
]
_WRITTEN = {row["dialect"]: row["call"] for row in _ROWS if "dialect" in row}

SPOKEN_OF = tuple(row["spoken_of"] for row in _ROWS if "spoken_of" in row)
"""Calls in dialects whose arguments are no JSON."""

DIALECTS_WRITTEN = tuple(_WRITTEN)
"""Dialects in which any arguments can be written, since they are JSON there."""

QUOTATIONS = tuple(row["quotation"] for row in _ROWS if "quotation" in row)
"""Where a call is only spoken of, whatever stands before and behind it."""


def written(dialect: str, name: str, arguments: JsonText) -> str:
    """A call as text."""
    before, _, after = _WRITTEN[dialect].replace("NAME", name).rpartition("ARGS")
    return f"{before}{arguments}{after}"
