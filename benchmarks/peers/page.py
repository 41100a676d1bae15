"""What is written from the results: ``TABLE.md``, the picture, and the table in docs/compare.md.

``python -m benchmarks.peers.page`` writes them again, without measuring.
"""

from __future__ import annotations

from benchmarks.peers.contestant import HERE
from benchmarks.peers.plot import plot
from benchmarks.peers.results import Results
from benchmarks.peers.table import budget_table, cpu_table, wall_table
from benchmarks.shared.environment import ROOT
from benchmarks.shared.marks import Marks

__all__ = ["IN_DOCS", "PAGE", "PICTURE", "page", "write"]

PAGE = HERE / "TABLE.md"
PICTURE = HERE / "cost.svg"
IN_DOCS = Marks("<!-- peers: made by make bench -->", "<!-- end of peers -->")

_PAGE = """\
# What a tool loop costs

Made by `make bench` from [results.json](results.json), which has every sample.
How it is measured: [README.md](README.md).

## CPU

Milliseconds of CPU (user and system) that a turn takes, by turns of the run, and how often toolreel's that
is; runs of ten turns for a second of CPU, of that many at once; memory that the most at once need; CPU of
the import. Runs that took more than {limit:.0f} s of CPU, or {limit_at_once:.0f} s at once (or twice that of
wall time), were cut: `>` and `<` say on which side whole runs would be.

{cpu}
![CPU of a turn against turns](cost.svg)

## What toolreel is held to

{budgets}
## Wall time, memory and the server

Milliseconds that a turn takes, the most memory of a process that makes runs one after another, and what the
server takes for a turn of the longest of them, in a process of its own.

{wall}"""


def page(results: Results) -> str:
    """All tables."""
    return _PAGE.format(
        limit=results.limit,
        limit_at_once=results.limit_at_once,
        cpu=cpu_table(results),
        budgets=budget_table(results),
        wall=wall_table(results),
    )


def write(results: Results) -> None:
    """Write everything that is made from the results."""
    PAGE.write_text(page(results), "utf-8")
    PICTURE.write_text(plot(results), "utf-8")
    IN_DOCS.put(ROOT / "docs" / "compare.md", cpu_table(results))


if __name__ == "__main__":
    write(Results.load())
