"""Tables, and sentences beside them, as Markdown and as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import Final, NamedTuple, TypeAlias

from toolreel._internal import printable
from toolreel.evals._statistics import Difference, Rate
from toolreel_core._jsontext import Json
from toolreel_core.evals import Trial

_ERROR_LENGTH: Final = 120
_USUAL: Final = {"profile": "default", "coverage": "100%", "after empty reply": "0"}
"""Usual values by column; a column that has only these, or nothing, is left out of text."""


class Link(NamedTuple):
    """A cell with a place in the page that it leads to; only HTML shows it."""

    text: str
    href: str
    style: str = ""
    """The class of the cell; with an empty ``href``, it has nothing but that."""


Content: TypeAlias = str | Link


@dataclass(frozen=True, slots=True)
class TextTable:
    """One table with notes."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Content, ...], ...]
    notes: tuple[str, ...] = ()


def rows_of(table: TextTable) -> list[Json]:
    """The rows for machines, by the names of the columns; nothing where a cell is empty."""
    return [
        {name: cell_text(cell) or None for name, cell in zip(table.head, row, strict=True)}
        for row in table.rows
    ]


def percent(share: float | None) -> str:
    """A rate in whole percent, ``-`` if it is not known; only what is all is 100, only nothing is 0.

    >>> percent(0.855), percent(0.999), percent(0.001), percent(None)
    ('86%', '99%', '1%', '-')
    """
    if share is None:
        return "-"
    whole = int(100 * share + 0.5)
    return f"{whole if share in {0, 1} else min(99, max(1, whole))}%"


def rate_cells(rate: Rate | None) -> tuple[str, str, str]:
    """Passed of valid runs, the rate, and its interval."""
    if rate is None:
        return "0/0", "-", "-"
    return f"{rate.passed}/{rate.of}", percent(rate.rate), f"{100 * rate.low:.1f}-{100 * rate.high:.1f}"


def points_text(difference: float | None) -> str:
    """A difference of rates in points of percent, with its sign.

    >>> points_text(0.0312), points_text(-0.2), points_text(0.0), points_text(None)
    ('+3.1', '-20.0', '0.0', '-')
    """
    if difference is None:
        return "-"
    shown = f"{100 * difference:+.1f}"
    return "0.0" if shown in {"+0.0", "-0.0"} else shown


def difference_cells(found: Difference | None, p_holm: float | None) -> tuple[str, str, str]:
    """A difference in points, its interval, and its p-value."""
    if found is None:
        return "-", "-", "-"
    return (
        points_text(found.difference),
        f"{points_text(found.low)} to {points_text(found.high)}",
        p_text(p_holm),
    )


def p_text(value: float | None) -> str:
    """A p-value in three digits.

    >>> p_text(0.03125), p_text(0.00001), p_text(1.0), p_text(None)
    ('0.0312', '<0.0001', '1', '-')
    """
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.3g}"


def recording_or_key(one: Trial) -> str:
    """The recording of a run, or else the beginning of its key."""
    return one.recording or one.key[:12]


def one_line(text: str) -> str:
    """A text in one line of at most 120 characters, with a mark if there was more."""
    line = " ".join(text.split())
    return line if len(line) <= _ERROR_LENGTH else line[:_ERROR_LENGTH] + "…"


def without_usual(table: TextTable) -> TextTable:
    """The table without columns that have nothing but the usual values."""
    kept = [
        place
        for place, name in enumerate(table.head)
        if any(cell_text(row[place]) not in {_USUAL.get(name, ""), ""} for row in table.rows)
    ]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return replace(table, head=tuple(table.head[place] for place in kept), rows=rows)


def cell_text(cell: Content) -> str:
    """What a cell says."""
    return cell if isinstance(cell, str) else cell.text


# Characters with a meaning in Markdown; an underscore only at the edge of a word, so that names stay legible.
_SPECIAL: Final = re.compile(r"([\\`*\[\]<>#|~$&!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
"""Characters that would break the line of a table."""


def as_markdown(title: str, lines: Iterable[str], tables: Iterable[TextTable]) -> str:
    """A page: a title, sentences, each a paragraph (empty ones are left out), and tables with their notes."""
    parts = [f"# {markdown_text(title)}", *map(markdown_text, filter(None, lines))]
    for table in tables:
        rows = [
            f"| {' | '.join(markdown_text(cell_text(cell)) for cell in row)} |"
            for row in (table.head, *table.rows)
        ]
        grid = "\n".join((rows[0], f"|{' --- |' * len(table.head)}", *rows[1:]))
        parts += [f"## {markdown_text(table.title)}", grid, *map(markdown_text, table.notes)]
    return "\n\n".join(parts) + "\n"


def markdown_text(text: str) -> str:
    r"""A text that Markdown shows as it is, in one line.

    What a model or a server wrote can be in it, so its markup is escaped.

    >>> print(markdown_text("happy_path|_b_ <c>\n[d](e)"))
    happy_path\|\_b\_ \<c\> \[d\](e)
    """
    return _SPECIAL.sub(r"\\\1", printable(_CONTROL.sub(" ", text)))


def html_text(text: str) -> str:
    """A text as HTML shows it, with what cannot be seen spelt out."""
    return escape(printable(text))


def as_html(table: TextTable, style: str = "flat") -> str:
    """A table with its notes; its title is the heading of a section."""
    name = html_text(table.title)
    ident = re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-")
    head = "".join(f'<th scope="col">{html_text(each)}</th>' for each in table.head)
    rows = "\n".join(
        f"<tr>{_html_cell(row[0], 'th')}{''.join(_html_cell(cell, 'td') for cell in row[1:])}</tr>"
        for row in table.rows
    )
    notes = "".join(f'<p class="quiet">{html_text(note)}</p>' for note in table.notes)
    return (
        f'<section id="{ident}" aria-labelledby="h-{ident}"><h2 id="h-{ident}">{name}</h2>\n'
        f'<div class="wide{" tall" * (style == "heat")}" tabindex="0" role="region" aria-label="{name}">'
        f'<table class="{style}" data-sorts>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n{notes}</section>\n"
    )


def _html_cell(cell: Content, tag: str) -> str:
    scope = ' scope="row"' if tag == "th" else ""
    if isinstance(cell, str):
        # Long names are at the head of rows; a narrow page may break them.
        text = html_text(cell)
        return f"<{tag}{scope}>{text.replace('_', '_<wbr>') if tag == 'th' else text}</{tag}>"
    style = f' class="{cell.style}"' if cell.style else ""
    text = html_text(cell.text)
    link = f'<a href="{escape(cell.href)}">{text}</a>' if cell.href else text
    return f"<{tag}{scope}{style}>{link}</{tag}>"
