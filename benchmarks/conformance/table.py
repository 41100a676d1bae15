"""The table: counts by peer, and the verdict of each peer on each shape.

``write`` leaves ``results.json``, ``TABLE.md`` and ``MATRIX.md`` beside this file, and puts the table
between two marks into docs/compare.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.conformance.judge import VERDICTS, Verdict
from benchmarks.conformance.peer import HERE, PEERS, Peer
from benchmarks.conformance.results import Result
from benchmarks.conformance.shape import Shape
from benchmarks.shared.environment import ROOT
from benchmarks.shared.marks import Marks

__all__ = ["Row", "matrix", "published", "rows_of", "table", "today", "write"]

_IN_DOCS: Final = Marks("<!-- conformance: made by make conformance -->", "<!-- end of conformance -->")
_PUBLISHED: Final = HERE / "results.json"
_MARKS: Final[Mapping[Verdict, str]] = {
    "right": "right",
    "told": "told",
    "error": "error",
    "silent": "**silent**",
    "wrong": "**WRONG**",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One peer in the table."""

    peer: Peer
    version: str
    date: str
    """The day on which it was put through the shapes."""
    verdicts: Mapping[str, str]
    """The verdict and why, by shape; what is missing does not apply, or was not run."""
    refused: int
    """In how many runs the provider refused a request for its history."""

    def count(self, verdict: Verdict) -> int:
        """How many shapes came to that."""
        return sum(found.partition(":")[0] == verdict for found in self.verdicts.values())


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


def write(shapes: Sequence[Shape], rows: Sequence[Row], reasons: Mapping[str, str]) -> None:
    """Write the files, and the table into the docs where the page has the marks."""
    made = table(rows, len(shapes), reasons)
    peers = {
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
    tree = {"shapes": len(shapes), "peers": peers, "not_installed": dict(reasons)}
    _save(_PUBLISHED, json.dumps(tree, indent=1, ensure_ascii=False) + "\n")
    _save(HERE / "TABLE.md", made)
    _save(HERE / "MATRIX.md", matrix(rows, shapes))
    _IN_DOCS.put(ROOT / "docs" / "compare.md", made)


def published() -> list[Row]:
    """The rows of the table as it was written last."""
    tree = json.loads(_PUBLISHED.read_text("utf-8"))
    kept = tree["peers"]
    return [
        Row(
            peer,
            kept[peer.id]["version"],
            kept[peer.id].get("date", tree.get("date", "")),
            kept[peer.id]["verdicts"],
            kept[peer.id]["refused"],
        )
        for peer in PEERS
        if peer.id in kept
    ]


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
    return Row(peer, peer.version(), today(), verdicts, refused)


def _save(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
