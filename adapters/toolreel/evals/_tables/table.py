"""Tables as plain values, printed on a console or written as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel._internal import printable
from toolreel_core.evals import Interval, RunEntry

_ERROR_LENGTH: Final = 120
_USUAL: Final = {
    "profile": "default",
    "fallback_profile": "best_effort",
    "coverage": "100%",
    "after_empty_reply": "0",
}
"""Usual values by column; a column that has only these is left out on a terminal."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """One table with notes."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Each has as many cells as the head."""
    notes: tuple[str, ...] = ()


def without_constant_columns(table: TextTable) -> TextTable:
    """A table without the columns that say nothing, or the same default in all rows.

    >>> without_constant_columns(
    ...     TextTable("tasks", ("model", "profile", "error"), (("a", "default", ""), ("b", "default", "")))
    ... ).head
    ('model',)
    """
    kept = [
        place
        for place, name in enumerate(table.head)
        if any(row[place] not in {_USUAL.get(name, ""), ""} for row in table.rows)
    ]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return TextTable(table.title, tuple(table.head[place] for place in kept), rows, table.notes)


def percent(share: float | None) -> str:
    """A rate in whole percent, ``-`` if it is not known; only what is all is 100, only nothing is 0.

    >>> percent(0.855), percent(0.999), percent(0.001), percent(None)
    ('86%', '99%', '1%', '-')
    """
    if share is None:
        return "-"
    whole = int(100 * share + 0.5)
    if share not in {0, 1}:
        whole = min(99, max(1, whole))
    return f"{whole}%"


def interval_text(interval: Interval | None) -> str:
    """An interval in percent, such as ``82.4-88.1``."""
    return "-" if interval is None else f"{100 * interval.low:.1f}-{100 * interval.high:.1f}"


def points(difference: float | None) -> str:
    """A difference of rates in points of percent, with its sign.

    >>> points(0.0312), points(-0.2), points(0.0), points(None)
    ('+3.1', '-20.0', '0.0', '-')
    """
    if difference is None:
        return "-"
    shown = f"{100 * difference:+.1f}"
    return "0.0" if shown in {"+0.0", "-0.0"} else shown


def p_text(value: float | None) -> str:
    """A p-value in three digits.

    >>> p_text(0.03125), p_text(0.00001), p_text(1.0), p_text(None)
    ('0.0312', '<0.0001', '1', '-')
    """
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.3g}"


def out_of(some: int, every: int) -> str:
    """Such as ``3/5``."""
    return f"{some}/{every}"


def where(entry: RunEntry) -> str:
    """The recording of a run, or else the beginning of its key."""
    return entry.cassette or entry.key[:12]


def shortened(text: str) -> str:
    """A text in one line of at most 120 characters, with a mark if there was more."""
    line = " ".join(text.split())
    return line if len(line) <= _ERROR_LENGTH else line[:_ERROR_LENGTH] + "…"


# Characters with a meaning in Markdown; an underscore only at the edge of a word, so that names stay legible.
_SPECIAL: Final = re.compile(r"([\\`*\[\]<>#|~$&!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
"""Characters that would break the line of a table."""


def as_markdown(title: str, lines: Iterable[str], tables: Iterable[TextTable]) -> str:
    """A page: a title, sentences, each a paragraph (empty ones are left out), and tables with their notes."""
    parts = [f"# {escaped(title)}", *map(escaped, filter(None, lines))]
    for table in tables:
        parts += [f"## {escaped(table.title)}", _grid(table), *map(escaped, table.notes)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    r"""A text that Markdown shows as it is, in one line.

    What a model or a server wrote can be in it, so its markup is escaped.

    >>> print(escaped("happy_path|_b_ <c>\n[d](e)"))
    happy_path\|\_b\_ \<c\> \[d\](e)
    """
    return _SPECIAL.sub(r"\\\1", printable(_CONTROL.sub(" ", text)))


def _grid(table: TextTable) -> str:
    rows: Sequence[Sequence[str]] = (table.head, *table.rows)
    lines = [f"| {' | '.join(map(escaped, row))} |" for row in rows]
    rule = f"|{' --- |' * len(table.head)}"
    return "\n".join((lines[0], rule, *lines[1:]))
