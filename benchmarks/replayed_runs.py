"""What replaying a run costs on top of the core, by who answers: the journal, the cassette, httpx before it.

    python -m benchmarks.replayed_runs

A run has ten turns, each replay is strict: what was asked must be what was recorded, byte for byte. Then what
looking up one request takes by the size of the cassette, and what a test takes to open its cassette and close
it, the first time and when another test has had it before. CPU time, medians of interleaved rounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

import httpx

from benchmarks.servers.scripted import answer_body
from benchmarks.servers.session import PLAN, Scripted, Stock
from toolreel_adapters import cassette_file
from toolreel_adapters.cassette import Recording, RecordTransport, ReplayTransport, recording
from toolreel_adapters.drive import run
from toolreel_adapters.http import HttpEndpoint
from toolreel_adapters.journal import MemoryJournal, parse_journal
from toolreel_adapters.perform import Ports
from toolreel_adapters.ports import Endpoint, Performer
from toolreel_adapters.rehearsal import CHAT, Rehearsal
from toolreel_adapters.taped import TapedEndpoint

TURNS: Final = 10
ROUNDS: Final = 30
SIZES: Final = (10, 100, 1_000)
_URL: Final = "http://replay.invalid/v1"


def replayed(performer: Performer) -> None:
    """A run, to its end."""
    run(PLAN, performer)


def ports(endpoint: Endpoint) -> Ports:
    """The endpoint, and the tool."""
    return Ports(endpoint, Stock())


def record(path: Path, turns: int) -> list[bytes]:
    """Record a run into a cassette; gives the bodies that were sent."""
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        body = answer_body(len(sent) - 1, turns)
        return httpx.Response(200, headers={"content-type": "application/json"}, content=body)

    with recording(path) as tape:
        transport = RecordTransport(tape, httpx.MockTransport(answer))
        with HttpEndpoint(_URL, transport=transport) as endpoint:
            replayed(ports(endpoint))
    return sent


def cpu(act: Callable[[], object]) -> float:
    """Microseconds of CPU."""
    before = process_time()
    act()
    return (process_time() - before) * 1e6


def runs(path: Path) -> dict[str, float]:
    """Microseconds for a run, by who answers."""
    journal = MemoryJournal(PLAN)
    run(PLAN, ports(Scripted(TURNS)), journal=journal)
    recorded = parse_journal(journal.text)
    taken: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        performers: dict[str, Performer] = {
            "the core alone": ports(Scripted(TURNS)),
            "the journal": Rehearsal(recorded),
            "the cassette": ports(TapedEndpoint(Recording.load(path))),
            "the cassette through httpx": ports(
                HttpEndpoint(_URL, transport=ReplayTransport(Recording.load(path)))
            ),
            "journal and cassette": Rehearsal(
                recorded, endpoint=TapedEndpoint(Recording.load(path)), tools=Stock()
            ),
        }
        for name, performer in performers.items():
            taken.setdefault(name, []).append(cpu(partial(replayed, performer)))
    return {name: median(each) for name, each in taken.items()}


def lookup(path: Path, bodies: list[bytes]) -> float:
    """Microseconds for one request: found, checked, and given."""
    tape = Recording.load(path)
    return cpu(lambda: [tape.play("POST", CHAT, body) for body in bodies]) / len(bodies)


def opened(path: Path) -> tuple[float, float]:
    """Microseconds for opening a cassette and closing it: the first time, and again."""
    first, again = [], []
    for _ in range(ROUNDS):
        cassette_file.KEPT.cache_clear()
        first.append(cpu(lambda: Recording.load(path)))
        again.append(cpu(lambda: Recording.load(path)))
    return median(first), median(again)


def main() -> None:
    """Measure, and print three tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ten.yaml"
        record(path, TURNS)
        found = runs(path)
        core = found["the core alone"]
        print(f"{'ten turns, answered by':32} {'us':>7} {'above the core':>15} {'runs a CPU second':>18}")
        for name, cost in found.items():
            print(f"{name:32} {cost:>7,.0f} {cost - core:>15,.0f} {1e6 / cost:>18,.0f}")
        print(f"\n{'a request looked up, in a cassette of':40} {'us':>7}")
        for size in SIZES:
            bodies = record(large := Path(folder) / f"{size}.yaml", size)
            print(f"{size:>40,} {lookup(large, bodies):>7.1f}")
        print(f"\n{'a cassette opened and closed, of':40} {'ms':>7} {'again':>7}")
        for size in (1, 2, 10):
            record(small := Path(folder) / f"{size}-small.yaml", size)
            first, again = opened(small)
            print(f"{size:>40,} {first / 1e3:>7.2f} {again / 1e3:>7.2f}")


if __name__ == "__main__":
    main()
