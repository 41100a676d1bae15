"""The published counts: ``results.json``, and the table that README.md makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.bfcl.model import WAYS
from benchmarks.bfcl.rows import Row, Settings
from benchmarks.bfcl.shapes import SHAPES
from benchmarks.bfcl.strategies import STRATEGIES

__all__ = ["HERE", "Counts", "by_settings", "published", "table", "tree", "with_table", "write"]

HERE = Path(__file__).parent
_BEGIN = "<!-- counts: made by python -m benchmarks.bfcl --write -->\n"
_END = "<!-- end of counts -->"

Counts: TypeAlias = Mapping[Settings, int]
"""How many cases break, by row."""


def published() -> Mapping[str, Any]:
    """What was written last."""
    known: Mapping[str, Any] = json.loads((HERE / "results.json").read_text("utf-8"))
    return known


def by_settings(known: Mapping[str, Any]) -> Counts:
    """The counts of a tree."""
    return {
        Settings(entry["shape"], entry["strategy"], entry["way"]): entry["broken"] for entry in known["rows"]
    }


def tree(rows: Iterable[Row], package: str) -> dict[str, Any]:
    """The counts of whole rows, for ``results.json``."""
    done = [*rows]
    entries = [
        {
            "shape": row.settings.shape,
            "strategy": row.settings.strategy,
            "way": row.settings.way,
            "broken": row.broken,
        }
        for row in done
    ]
    return {"bfcl_eval": package, "cases": done[0].cases, "rows": entries}


def table(known: Mapping[str, Any]) -> str:
    """The counts as Markdown."""
    counts = by_settings(known)
    columns = [Settings("", strategy, way) for strategy in STRATEGIES for way in WAYS]
    heads = " | ".join(f"`{column.strategy}`, {column.way}" for column in columns)
    head = f"cases of {known['cases']} that break"
    lines = [f"| {head} | | {heads} |", "|---|---|" + "---:|" * len(columns)]
    for name, shape in SHAPES.items():
        broken = " | ".join(str(counts[replace(column, shape=name)]) for column in columns)
        lines.append(f"| {name} | {shape.about} | {broken} |")
    return "\n".join(lines) + "\n"


def with_table(text: str, made: str) -> str:
    """A page with the table where its marks are."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}{made}{end}{after}"


def write(known: Mapping[str, Any]) -> None:
    """Leave the counts next to this file, and their table in README.md."""
    (HERE / "results.json").write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    page = HERE / "README.md"
    page.write_text(with_table(page.read_text("utf-8"), table(known)), "utf-8")
