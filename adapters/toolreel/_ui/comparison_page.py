"""Two evaluations side by side: what ``toolreel eval compare`` says, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from toolreel._internal.pages.page_frame import framed
from toolreel._internal.visible_text import printable
from toolreel.evals._summary.comparison import compare, read_sides
from toolreel.evals._tables.comparison_tables import comparison_lines, comparison_tables
from toolreel.evals._tables.table import TextTable

_FLIPS = 100
"""How many lost or gained runs are listed; the terminal lists all."""


def comparison_page(before: Path, after: Path) -> str:
    """The page.

    :raises ResultsError: if a directory has no evaluation
    """
    first, second = read_sides(before, (str(after),))
    comparison = compare(first.side, second.side, first.axis)
    lines = [*comparison_lines(comparison), *first.headers_beside(second)]
    if comparison.lacking:
        lines.append(f"Incomplete (runs missing or void: {comparison.lacking}).")
    title = f"{before.name} and {after.name}"
    parts = (
        '<p><a href="/">To the list</a></p>',
        f"<main><h1>{_text(title)}</h1>",
        *(f"<p>{_text(line)}</p>" for line in lines),
        *(_table(table) for table in comparison_tables(comparison, _FLIPS)),
        "</main>",
    )
    return framed(f"{printable(title)} – toolreel", "\n".join(parts))


def _table(table: TextTable) -> str:
    title = _text(table.title)
    return "\n".join(
        (
            f"<h2>{title}</h2>",
            # A wide table scrolls on its own, with the keyboard too.
            f'<div class="wide" tabindex="0" role="region" aria-label="{title}"><table>',
            f"<thead><tr>{''.join(_cells('th scope=col', table.head))}</tr></thead>",
            "<tbody>",
            *(f"<tr>{''.join(_cells('td', row))}</tr>" for row in table.rows),
            "</tbody></table></div>",
            *(f"<p>{_text(note)}</p>" for note in table.notes),
        )
    )


def _cells(element: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield f"<{element}>{_text(text)}</{element.partition(' ')[0]}>"


def _text(text: str) -> str:
    return escape(printable(text))
