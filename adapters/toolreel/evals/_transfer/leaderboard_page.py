"""The page of a leaderboard: one HTML file without external requests, in the frame of all pages."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from toolreel._internal.pages.page_frame import framed
from toolreel._internal.visible_text import printable
from toolreel.evals._transfer.leaderboard import Leaderboard, Row

_STYLE: Final = """
.board svg { display: block; width: 12rem; height: 1.2rem; }
.interval { stroke: var(--link); stroke-width: 3; }
.rate { fill: var(--link); }
.scale { stroke: var(--rule); }
code { font-size: .85em; }
"""
_HEAD: Final = (
    "model",
    "strategy",
    "passed",
    "rate",
    "95 % interval",
    "drawn",
    "coverage",
    "trials",
    "bundle",
)
_NUMBERS: Final = frozenset({"passed", "rate", "95 % interval", "coverage", "trials"})


def leaderboard_page(board: Leaderboard) -> str:
    """The page; the same bundles give the same bytes."""
    return framed("Leaderboard of tool calls", _body(board), styles=(_STYLE,))


def _body(board: Leaderboard) -> str:
    head = "".join(f'<th scope="col"{_aligned(name)}>{_text(name)}</th>' for name in _HEAD)
    rows = "\n".join(f"<tr>{''.join(_cells(row))}</tr>" for row in board.rows)
    scenarios = ", ".join(map(_text, board.scenarios))
    return f"""<main>
<h1>Leaderboard of tool calls</h1>
<p>Every run of every row was replayed offline and judged again, with the same verdict. Rates are of valid
runs; an interval is over the scenarios, of which the runs of one are alike. Rows whose intervals overlap are
in no proven order: <code>toolreel eval compare</code> tests two of them, run by run.</p>
<div class="wide" tabindex="0" role="region" aria-label="leaderboard"><table class="flat board">
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody></table></div>
<h2>What is comparable</h2>
<p>Compared on {len(board.scenarios)} scenarios, which all bundles have in the same version: {scenarios}</p>
{_items(board.remarks, "Nothing else differs.")}
{_refused(board)}
<h2>Bundles</h2>
<ul>
{"".join(_bundle(board))}</ul>
</main>"""


def _text(text: str) -> str:
    """A text of others: escaped, and nothing in it unseen."""
    return escape(printable(text))


def _aligned(name: str) -> str:
    return ' class="number"' if name in _NUMBERS else ""


def _cells(row: Row) -> Iterator[str]:
    counts, clustered = row.total.counts, row.total.clustered
    interval = clustered.interval if clustered else None
    model = f"{row.model} ({row.variant})" if row.variant else row.model
    yield f"<td>{_text(model)}</td><td>{_text(row.strategy)}</td>"
    yield f'<td class="number">{counts.ok} of {counts.valid}</td>'
    yield f'<td class="number">{_percent(row.total.rate)}</td>'
    if interval is None:
        yield '<td class="number">-</td><td></td>'
    else:
        low, high = interval.low, interval.high
        yield f'<td class="number">{_percent(low)} to {_percent(high)}</td>'
        yield f"<td>{_drawn(row.total.rate, low, high)}</td>"
    yield f'<td class="number">{_percent(counts.coverage)}</td><td class="number">{row.trials}</td>'
    yield f"<td>{_text(row.bundle)}</td>"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _drawn(rate: float | None, low: float, high: float) -> str:
    """The interval on a scale from 0 to 100 %."""
    spot = "" if rate is None else f'<circle class="rate" cx="{100 * rate:.2f}" cy="6" r="3.5"/>'
    return (
        '<svg viewBox="-4 0 108 12" role="img" aria-label="interval from 0 to 100 %">'
        '<line class="scale" x1="0" y1="6" x2="100" y2="6"/>'
        f'<line class="interval" x1="{100 * low:.2f}" y1="6" x2="{100 * high:.2f}" y2="6"/>{spot}</svg>'
    )


def _items(texts: tuple[str, ...], otherwise: str) -> str:
    if not texts:
        return f"<p>{_text(otherwise)}</p>"
    return f"<ul>{''.join(f'<li>{_text(text)}</li>' for text in texts)}</ul>"


def _refused(board: Leaderboard) -> str:
    if not board.refused:
        return ""
    return f"<h2>Not verified</h2>{_items(tuple(f'{name}: {why}' for name, why in board.refused), '')}"


def _bundle(board: Leaderboard) -> Iterator[str]:
    for one in board.verified:
        yield (
            f"<li>{_text(one.bundle)}: {one.runs} runs, begun {_text(one.created)}, contents "
            f"<code>sha256:{_text(one.digest)}</code></li>\n"
        )
