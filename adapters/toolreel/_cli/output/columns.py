"""Print rows in columns; on a terminal the last column is wrapped."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from rich.console import Console

from toolreel._cli.output.console import printable

_GAP: Final = "  "
_NARROWEST: Final = 20


def show_columns(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below a header; each row has as many cells as the header."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    for row in (head, *rows):
        cells = [printable(cell).ljust(width) for cell, width in zip(row, widths, strict=False)]
        first = "".join(f"{cell}{_GAP}" for cell in cells)
        lines = _wrapped(console, printable(row[-1]), console.width - len(first))
        indent = "\n" + " " * len(first)
        console.print((first + indent.join(lines)).rstrip(), style="bold blue" if row is head else "")


def _wrapped(console: Console, text: str, width: int) -> list[str]:
    if not console.is_terminal or width < _NARROWEST:
        return [text]
    return textwrap.wrap(text, width) or [""]
