"""Play the leaderboard's multi-turn cases through the loop: ``python -m benchmarks.bfcl``.

Under ``production`` every case has to come out as in its twin world, but for those that are waived by name.
Under ``raw`` as many have to break as is published.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import distributions
from typing import TypeVar

from benchmarks.bfcl.cases import CATEGORIES, FOLDER, cases
from benchmarks.bfcl.model import WAYS
from benchmarks.bfcl.results import by_settings, published, tree, write
from benchmarks.bfcl.rows import Row, Settings, played, unexpected
from benchmarks.bfcl.shapes import SHAPES
from benchmarks.bfcl.strategies import STRATEGIES

__all__ = ["main"]

_Name = TypeVar("_Name", bound=str)

_SIZE = {"cases": 800, "turns of the user": 3336, "calls": 4625}
"""What the locked release holds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print a line for each row, and say what is not as it has to be."""
    parser = _parser()
    given = parser.parse_args(arguments)
    logging.getLogger("toolreel").setLevel(logging.ERROR)  # how each run ended is what is counted here
    if given.write and (given.case or {given.shape, given.strategy, given.way} != {"all"}):
        parser.error(
            "--write publishes the whole matrix: --shape all --strategy all --way all, and no --case"
        )
    if not FOLDER.exists():
        print(f"{FOLDER} is not there; run `make bfcl`, which installs it.", file=sys.stderr)
        return 2
    settings = [
        Settings(shape, strategy, way)
        for shape in _chosen(given.shape, SHAPES)
        for strategy in _chosen(given.strategy, STRATEGIES)
        for way in _chosen(given.way, WAYS)
    ]
    wrong = [*_size_apart()]
    done: list[Row] = []
    print(f"{'shape':18} {'strategy':11} {'way':11} {'cases':>6} {'broken':>7}", flush=True)
    for row in played(settings, given.case, given.jobs):
        one = row.settings
        print(f"{one.shape:18} {one.strategy:11} {one.way:11} {row.cases:6} {row.broken:7}", flush=True)
        done.append(row)
        wrong += unexpected(row, given.case) if one.strategy == "production" else ()
    if given.write:
        write(tree(done, _release()))
    elif not given.case:
        wrong += _counts_apart(done)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of CPU", file=sys.stderr)
    for why in wrong:
        print(why, file=sys.stderr)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.bfcl", description=__doc__, formatter_class=about)
    parser.add_argument(
        "--shape", choices=[*SHAPES, "all"], default="canonical", help="how calls are written"
    )
    parser.add_argument(
        "--strategy", choices=[*STRATEGIES, "all"], default="production", help="how the loop is set up"
    )
    parser.add_argument("--way", choices=[*WAYS, "all"], default="sequential", help="calls of a reply")
    parser.add_argument("--case", action="append", default=[], metavar="ID", help="only this one; repeatable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--write", action="store_true", help="publish the counts; for the whole matrix")
    return parser


def _chosen(name: str, names: Collection[_Name]) -> list[_Name]:
    return [known for known in names if name in {known, "all"}]


def _size_apart() -> Iterator[str]:
    """Whether the package holds what it is known to hold."""
    every = [case for category in CATEGORIES for case in cases(category)]
    turns = [turn for case in every for turn in case.turns]
    found = {
        "cases": len(every),
        "turns of the user": len(turns),
        "calls": sum(len(turn.calls) for turn in turns),
    }
    if found != _SIZE:
        yield f"the package holds {found}, expected {_SIZE}; is it another release?"


def _counts_apart(rows: Sequence[Row]) -> Iterator[str]:
    """Whether as many cases break as is published; one that mends is to be published as well."""
    counts = by_settings(published())
    for row in rows:
        if row.broken != counts[row.settings]:
            there = f"{row.broken} cases break, published are {counts[row.settings]}"
            yield f"{row.settings}: {there}; see what changed, and publish it with --write"


def _release() -> str:
    return next(iter(distributions(name="bfcl_eval", path=[str(FOLDER)]))).version


if __name__ == "__main__":
    sys.exit(main())
