"""The table of the proxy's gain counts what got better, and does not hide what got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.conformance.behind_table import behind_page, behind_table, headline
from benchmarks.conformance.peer import PEERS
from benchmarks.conformance.row import Row
from benchmarks.conformance.setup import Setup

LOOP = next(peer for peer in PEERS if not peer.ours)
OURS = next(peer for peer in PEERS if peer.ours)


def row(**verdicts: str) -> Row:
    return Row(LOOP, "1", "2026-11-23", verdicts, 0)


ROWS: Mapping[Setup, Sequence[Row]] = {
    "direct": [
        Row(OURS, "1", "", {"a": "right: executes"}, 0),
        row(a="right: fails", b="error: x", c="error: y"),
    ],
    "proxy": [row(a="silent: ended with ''", b="right: executes", c="right: tells")],
    "proxy_asking": [row(a="right: tells", b="right: executes", c="right: executes")],
}


def test_gains_and_losses_are_counted() -> None:
    *_, line = behind_table(ROWS).splitlines()
    assert line == f"| {LOOP.name} | 1 | 2 | +1 | 3 | +2 | 1 |"


def test_what_got_worse_is_named() -> None:
    page = behind_page(ROWS)
    assert "- a (**right on its own**): `silent: ended with ''`" in page
    assert page.rstrip().endswith("- nothing")
    assert OURS.name not in page


def test_the_headline_says_how_much_more() -> None:
    assert "1 to 1 right\non their own, 2 to 2 behind the proxy (1 to 1 more each)" in headline(ROWS, 3)
