"""Tables as Markdown, for the summary page of a build."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from toolreel.evals._tables.table import Tabled

__all__ = ["as_markdown", "escaped"]

_SPECIAL: Final = re.compile(r"([\\`*\[\]<>#|~$&!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def as_markdown(title: str, lines: Iterable[str], tables: Iterable[Tabled]) -> str:
    """A page: a title, sentences, each a paragraph (empty ones are left out), and tables with their notes."""
    parts = [f"# {escaped(title)}", *map(escaped, filter(None, lines))]
    for table in tables:
        parts += [f"## {escaped(table.title)}", _grid(table), *map(escaped, table.notes)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    r"""A text that Markdown shows as it is, in one line.

    What a model or a server wrote can be in it, so no mark of it may come to life.

    >>> print(escaped("happy_path|_b_ <c>\n[d](e)"))
    happy_path\|\_b\_ \<c\> \[d\](e)
    """
    return _SPECIAL.sub(r"\\\1", _CONTROL.sub(" ", text))


def _grid(table: Tabled) -> str:
    rows: Sequence[Sequence[str]] = (table.head, *table.rows)
    lines = [f"| {' | '.join(map(escaped, row))} |" for row in rows]
    rule = f"|{' --- |' * len(table.head)}"
    return "\n".join((lines[0], rule, *lines[1:]))
