"""toolreel in each wire form, compared with chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.conformance.forms import FORMS, Form
from benchmarks.conformance.row import Row
from benchmarks.conformance.setup import WORDS, Setup

__all__ = ["form_table"]


def form_table(rows: Mapping[Setup, Sequence[Row]]) -> str:
    """How many shapes are right, of how many that the form can say, as Markdown."""
    names = " | ".join(WORDS[form] for form in FORMS)
    lines = [f"| right | chat completions | {names} |", "|---|" + "---:|" * (1 + len(FORMS))]
    for row in rows["direct"]:
        if row.peer.ours:
            forms = " | ".join(_count(_row_of(rows, form, row)) for form in FORMS)
            lines.append(f"| {row.peer.name} | {_count(row)} | {forms} |")
    return "\n".join(lines) + "\n"


def _row_of(rows: Mapping[Setup, Sequence[Row]], form: Form, of: Row) -> Row | None:
    return next((row for row in rows.get(form, ()) if row.peer.id == of.peer.id), None)


def _count(row: Row | None) -> str:
    return f"{len(row.right)} of {len(row.verdicts)}" if row else "–"
