"""The table: counts by peer, and the verdict of each peer on each shape.

``write`` leaves ``results.json``, ``TABLE.md``, ``MATRIX.md`` and ``BEHIND_PROXY.md`` next to this file, and
puts the tables between marks into docs/compare.md and docs/proxy.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.conformance.behind_table import behind_page, behind_table, headline
from benchmarks.conformance.form_table import form_table
from benchmarks.conformance.forms import FORMS
from benchmarks.conformance.judge import VERDICTS, Verdict
from benchmarks.conformance.peer import HERE, PEERS, Peer
from benchmarks.conformance.results import Result
from benchmarks.conformance.row import Row
from benchmarks.conformance.setup import BEHIND, Setup
from benchmarks.conformance.shape import Shape
from benchmarks.shared.environment import ROOT
from benchmarks.shared.marks import Marks

__all__ = ["matrix", "published", "rows_of", "table", "today", "write"]

_IN_DOCS = Marks("<!-- conformance: made by make conformance -->", "<!-- end of conformance -->")
_BEHIND_IN_DOCS = Marks(
    "<!-- behind the proxy: made by make conformance -->", "<!-- end of behind the proxy -->"
)
_FORMS_IN_DOCS = Marks("<!-- wire forms: made by make conformance -->", "<!-- end of wire forms -->")
_PUBLISHED = HERE / "results.json"
_MARKS: Mapping[Verdict, str] = {
    "right": "right",
    "told": "told",
    "error": "error",
    "silent": "**silent**",
    "wrong": "**WRONG**",
}


def applies(shape: Shape, peer: Peer, result: Result) -> bool:
    """Whether a shape is judged for a peer.

    One that ends by a call takes no text for an answer, but what it runs because of a text counts.
    """
    return not (peer.ends_by_tool and "answers" in shape.right) or result.verdict == "wrong"


def table(rows: Sequence[Row], shapes: int, reasons: Mapping[str, str]) -> str:
    """The counts, as Markdown."""
    lines = [
        f"| {shapes} shapes | version | on | " + " | ".join(VERDICTS) + " | of | history refused |",
        "|---|---|---|" + "---:|" * (len(VERDICTS) + 2),
    ]
    for row in rows:
        counts = " | ".join(str(row.count(verdict)) for verdict in VERDICTS)
        total = len(row.verdicts)
        lines.append(f"| {row.peer.name} | {row.version} | {row.date} | {counts} | {total} | {row.refused} |")
    names = {peer.id: peer.name for peer in PEERS}
    lines += [f"| {names[identity]} | not installed: {reason} |" for identity, reason in reasons.items()]
    return "\n".join(lines) + "\n"


def matrix(rows: Sequence[Row], shapes: Iterable[Shape]) -> str:
    """What each peer made of each shape, as Markdown."""
    heads = " | ".join(row.peer.name for row in rows)
    lines = ["# What each loop made of each shape\n"]
    lines += [f"- {_MARKS[verdict]}: {about}" for verdict, about in VERDICTS.items()]
    lines.append("- –: does not apply")
    group = ""
    for shape in shapes:
        if shape.group != group:
            group = shape.group
            lines += [f"\n## {group}\n", f"| shape | {heads} |", "|---|" + "---|" * len(rows)]
        marks = " | ".join(_mark(row, shape.id) for row in rows)
        lines.append(f"| {shape.id} | {marks} |")
    return "\n".join(lines) + "\n"


def _mark(row: Row, shape: str) -> str:
    found = row.verdicts.get(shape, "").partition(":")[0]
    return next((mark for verdict, mark in _MARKS.items() if verdict == found), "–")


def write(shapes: Sequence[Shape], rows: Mapping[Setup, Sequence[Row]], reasons: Mapping[str, str]) -> None:
    """Write the files, and the tables into the docs where a page has the marks."""
    direct = rows["direct"]
    made, compared = table(direct, len(shapes), reasons), behind_table(rows)
    tree = {
        "shapes": len(shapes),
        "peers": _as_json(direct),
        "behind": {setup: _as_json(rows[setup]) for setup in BEHIND},
        "forms": {form: _as_json(rows[form]) for form in FORMS},
        "not_installed": dict(reasons),
    }
    _save(_PUBLISHED, json.dumps(tree, indent=1, ensure_ascii=False) + "\n")
    _save(HERE / "TABLE.md", made)
    _save(HERE / "MATRIX.md", matrix(direct, shapes))
    _save(HERE / "BEHIND_PROXY.md", behind_page(rows))
    _IN_DOCS.put(ROOT / "docs" / "compare.md", made)
    _BEHIND_IN_DOCS.put(ROOT / "docs" / "compare.md", compared)
    _FORMS_IN_DOCS.put(ROOT / "docs" / "compare.md", form_table(rows))
    _BEHIND_IN_DOCS.put(ROOT / "docs" / "proxy.md", headline(rows, len(shapes)))


def _as_json(rows: Iterable[Row]) -> dict[str, object]:
    return {
        row.peer.id: {
            "name": row.peer.name,
            "version": row.version,
            "date": row.date,
            "counts": {verdict: row.count(verdict) for verdict in VERDICTS},
            "refused": row.refused,
            "verdicts": dict(row.verdicts),
        }
        for row in rows
    }


def published() -> dict[Setup, list[Row]]:
    """The rows of the tables as they were written last."""
    tree = json.loads(_PUBLISHED.read_text("utf-8"))
    kept: Mapping[Setup, Mapping[str, Any]] = {"direct": tree["peers"], **tree["behind"], **tree["forms"]}
    return {
        setup: [
            Row(
                peer,
                rows[peer.id]["version"],
                rows[peer.id]["date"],
                rows[peer.id]["verdicts"],
                rows[peer.id]["refused"],
            )
            for peer in PEERS
            if peer.id in rows
        ]
        for setup, rows in kept.items()
    }


def rows_of(known: Mapping[str, Shape], results: Mapping[str, Mapping[str, Result]]) -> list[Row]:
    """The rows of the peers that have results."""
    return [_row(peer, results[peer.id], known) for peer in PEERS if results.get(peer.id)]


def today() -> str:
    """The date of a table."""
    return datetime.now(UTC).date().isoformat()


def _row(peer: Peer, found: Mapping[str, Result], known: Mapping[str, Shape]) -> Row:
    run = [shape for shape in known.values() if shape.id in found]
    results = {shape.id: found[shape.id] for shape in run if applies(shape, peer, found[shape.id])}
    verdicts = {shape: f"{result.verdict}: {result.why}" for shape, result in results.items()}
    refused = sum(result.refused for result in results.values())
    return Row(peer, peer.version(), max(found[shape.id].date for shape in run), verdicts, refused)


def _save(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
