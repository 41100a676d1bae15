"""Measure the contestants: ``python -m benchmarks.peers.run``.

The table, the picture and ``results.json`` are written when all contestants have been measured at all
points; otherwise the table is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.peers.contestant import CONTESTANTS, Contestant
from benchmarks.peers.measuring import AT_ONCE, TURNS, Measuring
from benchmarks.peers.page import page, write
from benchmarks.peers.results import Machine, Measured, Results
from benchmarks.peers.server import serving
from benchmarks.shared.environment import CACHE, NotInstalled

__all__ = ["main", "measured"]


def measured(contestants: Sequence[Contestant], measuring: Measuring) -> Results:
    """Install and measure."""
    missing: dict[str, str] = {}
    field: dict[Contestant, Measured] = {}
    CACHE.mkdir(exist_ok=True)
    for contestant in contestants:
        try:
            contestant.environment.install()
            field[contestant] = Measured(contestant.name, contestant.kind, contestant.version())
        except NotInstalled as error:
            missing[contestant.name] = str(error)
    with serving() as server:
        measuring.one_after_another(server, field)
        measuring.at_the_same_time(server, field)
    found = {contestant.id: each for contestant, each in field.items() if each.imported}
    missing |= {each.name: each.broken for each in field.values() if not each.imported}
    today = datetime.now(UTC).date().isoformat()
    return Results(today, Machine.here(), measuring.limit, measuring.limit_at_once, found, missing)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the table or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add, known = parser.add_argument, [contestant.id for contestant in CONTESTANTS]
    add("--contestant", action="append", choices=known, help="only this one; may be given again")
    add(
        "--turns", action="append", type=int, metavar="N", help="only runs of that length; may be given again"
    )
    add("--at-once", action="append", type=int, metavar="N", help="only that many runs at once; 0 for none")
    add("--rounds", type=int, default=9, help="samples of each point, where there is time")
    add(
        "--limit",
        type=float,
        default=15.0,
        help="seconds of CPU after which runs are ended, twice that of wall time",
    )
    add(
        "--limit-at-once",
        type=float,
        metavar="LIMIT",
        help="the same for runs at once; the same if not given",
    )
    given = parser.parse_args(arguments)
    chosen = [one for one in CONTESTANTS if not given.contestant or one.id in given.contestant]
    turns, at_once = given.turns or TURNS, [count for count in given.at_once or AT_ONCE if count]
    begun = time.monotonic()
    together = given.limit if given.limit_at_once is None else given.limit_at_once
    results = measured(chosen, Measuring(given.rounds, given.limit, together, turns, at_once))
    print(f"measured in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    if given.contestant or given.turns or given.at_once:
        print(page(results))
    else:
        results.save()
        write(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
