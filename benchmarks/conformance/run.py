"""Put the peers through the shapes: ``python -m benchmarks.conformance.run``.

Results are kept under ``.conformance/``, one line a run, so that a second start only makes what is
missing: runs of another version, of a changed shape, or with ``--fresh`` are made again. The table is
written when all peers have been put through all shapes, and printed otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from hashlib import sha256
from typing import Final

from benchmarks.conformance.driver import Driver
from benchmarks.conformance.judge import Run, judged
from benchmarks.conformance.peer import HERE, PEERS, Peer
from benchmarks.conformance.provider import Provider, serving
from benchmarks.conformance.results import Result, results_of, results_path
from benchmarks.conformance.shape import Shape, load
from benchmarks.conformance.table import published, rows_of, table, write
from benchmarks.shared.environment import CACHE, NotInstalled

__all__ = ["main", "put_through"]

PATIENCE: Final = 12.0
"""Seconds that one run may take."""


def put_through(
    peer: Peer, shapes: Sequence[Shape], provider: Provider, patience: float, proxy: str = ""
) -> None:
    """Make the runs of one peer that are missing, and keep each as soon as it is judged.

    :param proxy: URL of a proxy in front of the provider, if the peer is to be put behind one
    """
    behind = bool(proxy)
    kept, driver = results_of(peer, behind_proxy=behind), Driver(peer)
    try:
        with results_path(peer, behind_proxy=behind).open("a", encoding="utf-8") as file:
            for shape in shapes:
                key = f"{time.time_ns()}" if behind else _key(peer, shape)
                if shape.id in kept and kept[shape.id].key == key:
                    continue
                begun = time.monotonic()
                run = f"{peer.id}-{shape.id}-{time.time_ns()}"
                base_url = provider.base_url(shape.id, run).replace(provider.url, proxy or provider.url)
                came = driver.run(shape, base_url, patience)
                verdict, why = judged(shape, Run(came.ran, came.text, came.raised, provider.seen(run)))
                seconds = round(time.monotonic() - begun, 2)
                refused = bool(provider.seen(run).refused)
                result = Result(shape.id, key, verdict, why, refused, seconds)
                line = {name: getattr(result, name) for name in Result.__slots__}
                print(json.dumps(line), file=file, flush=True)
                print(f"{peer.id:14} {shape.id:38} {verdict:7} {seconds:5.1f} s  {why[:90]}", file=sys.stderr)
    finally:
        driver.stop()


def _key(peer: Peer, shape: Shape) -> str:
    """What a result depends on; toolreel's depends on code that is being worked on, so that it never fits."""
    if peer.ours:
        return f"{time.time_ns()}"
    files = sorted(path for path in peer.home.iterdir() if path.is_file())
    judging = [HERE / f"{name}.py" for name in ("driver", "history", "judge", "provider", "replies")]
    parts = [
        repr(shape),
        *(path.read_text("utf-8") for path in (*files, *judging, HERE / "peers/driving.py")),
    ]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _proxying(upstream: str) -> AbstractContextManager[str]:
    from benchmarks.conformance.behind_proxy import proxying  # noqa: PLC0415 - it needs the extra `proxy`

    return proxying(upstream)


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
        "--behind-proxy",
        action="store_true",
        help="put toolreel's proxy in front of the provider; the table is printed, and not written",
    )
    given = parser.parse_args(arguments)
    wanted = [peer.id for peer in PEERS if peer.ours] if given.ours else given.peer
    peers = [peer for peer in PEERS if not wanted or peer.id in wanted]
    for name in given.shape or ():
        if name not in shapes:
            parser.error(f"there is no shape {name!r}")
    chosen = [shape for shape in shapes.values() if not given.shape or shape.id in given.shape]
    CACHE.mkdir(exist_ok=True)
    reasons: dict[str, str] = {}

    def one(peer: Peer) -> None:
        if given.fresh:
            results_path(peer, behind_proxy=given.behind_proxy).unlink(missing_ok=True)
        try:
            peer.environment.install()
        except NotInstalled as error:
            reasons[peer.id] = str(error)
            return
        put_through(peer, chosen, provider, given.patience, proxy)

    with ExitStack() as stack:
        provider = stack.enter_context(serving(shapes))
        proxy = stack.enter_context(_proxying(provider.url)) if given.behind_proxy else ""
        pool = stack.enter_context(ThreadPoolExecutor(given.jobs))
        list(pool.map(one, peers))
    for identity, reason in reasons.items():
        print(f"{identity}: not installed: {reason}", file=sys.stderr)
    results = {
        peer.id: results_of(peer, behind_proxy=given.behind_proxy) for peer in peers if peer.id not in reasons
    }
    rows = rows_of(shapes, results)
    if given.peer or given.shape or given.behind_proxy:
        print(table(rows, len(shapes), reasons))
    else:
        theirs = [row for row in published() if not row.peer.ours] if given.ours else []
        write([*shapes.values()], [*rows, *theirs], reasons)
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
