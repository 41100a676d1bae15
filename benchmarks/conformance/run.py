"""Put the peers through the shapes: ``python -m benchmarks.conformance.run``.

Each is run alone and behind the proxy, and toolreel in all wire forms.

Results are kept under ``.conformance/``, one line a run, so that a second start only makes what is
missing: runs of another version, of a changed shape, or with ``--fresh`` are made again. The table is
written when all peers have been put through all shapes, and printed otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from typing import assert_never, cast

from benchmarks.conformance.driver import Came, Driver
from benchmarks.conformance.form_server import speaking
from benchmarks.conformance.forms import Form, has_meaning
from benchmarks.conformance.judge import Run, judged
from benchmarks.conformance.peer import HERE, PEERS, Peer
from benchmarks.conformance.provider import Provider, serving
from benchmarks.conformance.results import Result, results_of, results_path
from benchmarks.conformance.row import Row
from benchmarks.conformance.setup import PEERS_TOO, SETUPS, WORDS, Setup
from benchmarks.conformance.shape import Shape, load
from benchmarks.conformance.table import published, rows_of, table, today, write
from benchmarks.shared.environment import CACHE, ROOT, NotInstalled

__all__ = ["Place", "main", "put_through"]

PATIENCE = 12.0
"""Seconds that one run may take."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a peer is put through the shapes."""

    setup: Setup
    provider: Provider
    url: str
    """Of the provider, or of a proxy in front of it."""
    patience: float
    """Seconds that one run may take."""


def put_through(peer: Peer, shapes: Sequence[Shape], place: Place) -> None:
    """Make the runs of one peer that are missing, and keep each as soon as it is judged."""
    spoken = () if place.setup in PEERS_TOO else (place.setup,)
    kept = results_of(peer, place.setup)
    driver = Driver(replace(peer, arguments=(*peer.arguments, *spoken)))
    try:
        with results_path(peer, place.setup).open("a", encoding="utf-8") as file:
            for shape in shapes:
                key = _key(peer, shape, place.setup)
                if shape.id in kept and kept[shape.id].key == key:
                    continue
                result = _result(peer, shape, place, driver, key)
                line = {name: getattr(result, name) for name in Result.__slots__}
                print(json.dumps(line), file=file, flush=True)
                told = f"{result.verdict:7} {result.seconds:5.1f} s  {result.why[:90]}"
                print(f"{peer.id:14} {place.setup:12} {shape.id:38} {told}", file=sys.stderr)
    finally:
        driver.stop()


def _played(peer: Peer, shape: Shape, place: Place, driver: Driver) -> tuple[str, Came]:
    """One run: its name at the provider, and what came of it."""
    run = f"{peer.id}-{shape.id}-{time.time_ns()}"
    base_url = place.provider.base_url(shape.id, run).replace(place.provider.url, place.url)
    return run, driver.run(shape, base_url, place.patience)


def _result(peer: Peer, shape: Shape, place: Place, driver: Driver, key: str) -> Result:
    """One run, judged."""
    begun = time.monotonic()
    run, came = _played(peer, shape, place, driver)
    if came.raised is not None and came.raised.kind == "timeout":
        run, came = _played(peer, shape, place, driver)  # a busy machine is no reason for a verdict
    seen = place.provider.seen(run)
    verdict, why = judged(shape, Run(came.ran, came.text, came.raised, seen))
    return Result(
        shape.id, key, verdict, why, bool(seen.refused), round(time.monotonic() - begun, 2), today()
    )


def _key(peer: Peer, shape: Shape, setup: Setup) -> str:
    """What a result depends on: shape, driver, packages, and this project where it takes part."""
    files = sorted(path for path in peer.home.iterdir() if path.is_file())
    forms = () if setup in PEERS_TOO else ("form_server", "forms")
    judged_by = ("driver", "history", "judge", "provider", "replies", *forms)
    judging = [HERE / f"{name}.py" for name in judged_by]
    parts = [
        repr(shape),
        *(path.read_text("utf-8") for path in (*files, *judging, HERE / "peers/driving.py")),
        *(() if setup == "direct" and not peer.ours else (setup, _this_project())),
    ]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@cache
def _this_project() -> str:
    """A hash of all that is ours."""
    code = sorted(path for folder in ("domain", "adapters") for path in (ROOT / folder).rglob("*.py"))
    return sha256(b"\0".join(path.read_bytes() for path in code)).hexdigest()


@contextmanager
def _serving(setup: Setup, shapes: Mapping[str, Shape], patience: float) -> Generator[Place]:
    with ExitStack() as stack:
        provider = stack.enter_context(serving(shapes))
        match setup:
            case "direct":
                url = provider.url
            case "proxy" | "proxy_asking":
                from benchmarks.conformance.behind_proxy import proxying  # noqa: PLC0415 - the extra `proxy`

                url = stack.enter_context(proxying(provider.url, asking=setup == "proxy_asking"))
            case "responses" | "messages":
                url = stack.enter_context(speaking(provider, setup))
            case _:
                assert_never(setup)
        yield Place(setup, provider, url, patience)


def _applies(shape: Shape, setup: Setup) -> bool:
    return setup in PEERS_TOO or has_meaning(shape, cast("Form", setup))


def main(arguments: Sequence[str] | None = None) -> int:
    """Install, run, judge, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    shapes = {shape.id: shape for shape in load()}
    known = [peer.id for peer in PEERS]
    parser.add_argument("--peer", action="append", choices=known, help="only this one; may be given again")
    parser.add_argument(
        "--ours", action="store_true", help="only toolreel; the other rows of the tables stay as they are"
    )
    parser.add_argument("--shape", action="append", metavar="ID", help="only this one; may be given again")
    parser.add_argument("--jobs", type=int, default=1, help="peers at the same time")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds that a run may take")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are kept")
    parser.add_argument(
        "--setup",
        action="append",
        choices=SETUPS,
        help="only this one: alone, behind the proxy, or that with the repairs that cost requests",
    )
    given = parser.parse_args(arguments)
    wanted = [peer.id for peer in PEERS if peer.ours] if given.ours else given.peer
    peers = [peer for peer in PEERS if not wanted or peer.id in wanted]
    for name in given.shape or ():
        if name not in shapes:
            parser.error(f"there is no shape {name!r}")
    chosen = [shape for shape in shapes.values() if not given.shape or shape.id in given.shape]
    CACHE.mkdir(exist_ok=True)
    reasons = _not_installed(peers)
    there = [peer for peer in peers if peer.id not in reasons]
    setups: Sequence[Setup] = given.setup or SETUPS
    for setup in setups:
        if given.fresh:
            for peer in there:
                results_path(peer, setup).unlink(missing_ok=True)
        with _serving(setup, shapes, given.patience) as place, ThreadPoolExecutor(given.jobs) as pool:
            sayable = [shape for shape in chosen if _applies(shape, setup)]
            taking = [peer for peer in there if peer.ours or setup in PEERS_TOO]
            list(pool.map(partial(put_through, shapes=sayable, place=place), taking))
    for identity, reason in reasons.items():
        print(f"{identity}: not installed: {reason}", file=sys.stderr)
    found: dict[Setup, list[Row]] = {
        setup: rows_of(shapes, {peer.id: results_of(peer, setup) for peer in there}) for setup in setups
    }
    if given.peer or given.shape:
        for setup, rows in found.items():
            print(f"{WORDS[setup]}:\n\n{table(rows, len(shapes), reasons)}")
    else:
        write([*shapes.values()], _joined(published(), found), reasons)
    return 1 if reasons else 0


def _joined(
    before: Mapping[Setup, Sequence[Row]], found: Mapping[Setup, Sequence[Row]]
) -> dict[Setup, list[Row]]:
    """All rows as they are now: what was not put through again stays as it was published."""
    joined = {}
    for setup in SETUPS:
        new = {row.peer.id: row for row in found.get(setup, ())}
        rows = {**{row.peer.id: row for row in before.get(setup, ())}, **new}
        joined[setup] = [rows[peer.id] for peer in PEERS if peer.id in rows]
    return joined


def _not_installed(peers: Iterable[Peer]) -> dict[str, str]:
    """Install what the peers need; why some cannot be had."""
    reasons: dict[str, str] = {}
    for peer in peers:
        try:
            peer.environment.install()
        except NotInstalled as error:
            reasons[peer.id] = str(error)
    return reasons


if __name__ == "__main__":
    sys.exit(main())
