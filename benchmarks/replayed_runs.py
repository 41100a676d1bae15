"""What replaying a run costs on top of the core, by who answers: the journal, the cassette, httpx before it.

    python -m benchmarks.replayed_runs

A run has ten turns, each replay is strict: what was asked must be what was recorded, byte for byte. The core
is its fold over events that are there, the driver a run that gets the same events from a list; the others are
measured against that. Then a request of a client of httpx, compared with one whose transport answers at
once; what looking up one request takes, in a conversation, where each repeats all that was said before, and
among many small ones; and what a test takes to open its cassette and close it. CPU time, the least of many
rounds.

On 2026-11-22, with Python 3.11 on two shared cores of an AMD EPYC: core and driver 814 us; the journal 961
(1,041 runs a CPU second), the cassette 969 (1,032), both 1,152 (868), httpx 1,596 (627): a turn, above the
driver, 15 us (of which two fingerprints 7), 16, 34 and 78. A request of httpx's client 92 us, 80 if answered
at once. Since then, on the 29th: looked up
in 3 us, in a conversation of ten 5, in one of a thousand 19. Opening and closing 2 requests 0.44 ms, 5 in 0.9
and 10 in 1.8.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time_ns
from typing import TypeAlias

import httpx

from benchmarks.servers.scripted import answer_body
from benchmarks.servers.session import PLAN, Scripted, Stock
from toolreel import Plan, Ports, run
from toolreel._driver import Wanted
from toolreel._replay import TapedEndpoint
from toolreel.cassette import CassetteTransport, Session, use_cassette
from toolreel.http import HttpEndpoint
from toolreel.journals import MemoryJournal, Recorded, Rehearsal, parse_journal
from toolreel.ports import Endpoint, Performer
from toolreel_core import Event, ReplyReceived, SendRequest, fold
from toolreel_core._settings import PATHS

TURNS = 10
ROUNDS = 200
SIZES = (10, 100, 1_000)
_URL = "http://replay.invalid/v1"
DRIVEN = "the core and its driver"
Body: TypeAlias = tuple[bytes, ...]
"""A body in the pieces in which a run has it."""


class Events:
    """Gives the events of a run, whatever is wanted."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = iter(events)

    def perform(self, effect: Wanted) -> Event:  # noqa: ARG002 - whatever it is
        """The next one."""
        return next(self._events)


class Replies:
    """Gives the replies of a run, whatever is asked."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._replies = (event for event in events if isinstance(event, ReplyReceived))

    def send(self, effect: SendRequest) -> ReplyReceived:  # noqa: ARG002 - whatever it is
        """The next one."""
        return next(self._replies)


def ports(endpoint: Endpoint) -> Ports:
    """The endpoint, and the tool."""
    return Ports(endpoint, Stock())


class Asked:
    """Keeps the bodies that a run asks with, as it has them."""

    def __init__(self, turns: int) -> None:
        self.bodies: list[Body] = []
        self._scripted = ports(Scripted(turns))

    def perform(self, effect: Wanted) -> Event | None:
        """The scripted answer."""
        if isinstance(effect, SendRequest):
            self.bodies.append(tuple(effect.request.pieces()))
        return self._scripted.perform(effect)


def conversation(path: Path, turns: int) -> list[Body]:
    """Record a run into a cassette; gives the bodies that were asked with."""
    left = iter(range(turns))

    def answer(_: httpx.Request) -> httpx.Response:
        said = answer_body(next(left), turns)
        return httpx.Response(200, headers={"content-type": "application/json"}, content=said)

    asked = Asked(turns)
    run(PLAN, asked)
    with use_cassette(path, "record") as session:
        transport = session.transport(httpx.MockTransport(answer))
        with HttpEndpoint(_URL, transport=transport) as endpoint:
            run(PLAN, ports(endpoint))
    return asked.bodies


def small_ones(path: Path, count: int) -> list[Body]:
    """Record that many questions, each of them new; gives their bodies."""
    plans = [Plan.of(model="m", messages=f"What is {n:04}?") for n in range(count)]
    bodies: list[Body] = []
    with use_cassette(path, "record") as session:
        transport = session.transport(httpx.MockTransport(lambda _: httpx.Response(200, json={})))
        with HttpEndpoint(_URL, transport=transport) as endpoint:
            for plan in plans:
                asked = Asked(1)
                run(plan, asked)
                bodies += asked.bodies
                run(plan, ports(endpoint))
    return bodies


def cpu(act: Callable[[], object]) -> float:
    """Microseconds of CPU."""
    before = process_time_ns()
    act()
    return (process_time_ns() - before) / 1e3


def recorded_run() -> Recorded:
    """The run with its journal."""
    journal = MemoryJournal(PLAN)
    run(PLAN, ports(Scripted(TURNS)), journal=journal)
    return parse_journal(journal.text)


def acts(path: Path, recorded: Recorded) -> dict[str, Callable[[], object]]:
    """What is measured, ready to go."""
    tape = partial(Session, path)
    performers: dict[str, Performer] = {
        DRIVEN: Events(recorded.events),
        "the same through ports": ports(Replies(recorded.events)),
        "the journal": Rehearsal(recorded),
        "the cassette": ports(TapedEndpoint(tape())),
        "journal and cassette": Rehearsal(recorded, endpoint=TapedEndpoint(tape()), tools=Stock()),
        "the cassette through httpx": ports(HttpEndpoint(_URL, transport=CassetteTransport(tape()))),
    }
    driven: dict[str, Callable[[], object]] = {
        name: partial(run, PLAN, performer) for name, performer in performers.items()
    }
    return {"the core": partial(fold, PLAN, recorded.events), **driven}


def runs(path: Path) -> dict[str, float]:
    """Microseconds for a run, by who answers."""
    recorded = recorded_run()
    taken: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        ready = [*acts(path, recorded).items()]
        at = number % len(ready)
        for name, act in ready[at:] + ready[:at]:
            taken.setdefault(name, []).append(cpu(act))
    return {name: min(taken[name]) for name in acts(path, recorded)}


def through_httpx(path: Path, bodies: Sequence[Body]) -> tuple[float, float]:
    """Microseconds for a request of a client of httpx: replayed, and answered at once."""
    asked = [b"".join(body) for body in bodies]
    headers = {"content-type": "application/json"}
    at_once = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=answer_body(0, 2)))

    def ask(client: httpx.Client) -> None:
        for body in asked:
            client.post(f"{_URL}{PATHS['chat_completions']}", content=body, headers=headers)

    replayed: list[float] = []
    bare: list[float] = []
    for _ in range(ROUNDS // 4):
        with httpx.Client(transport=CassetteTransport(Session(path))) as client:
            replayed.append(cpu(partial(ask, client)))
        with httpx.Client(transport=at_once) as client:
            bare.append(cpu(partial(ask, client)))
    return min(replayed) / len(asked), min(bare) / len(asked)


def played(tape: Session, bodies: Sequence[Body]) -> None:
    """Ask for all of them."""
    for body in bodies:
        tape.play("POST", PATHS["chat_completions"], *body)


def looked_up(path: Path, bodies: Sequence[Body]) -> float:
    """Microseconds for one request: found, checked, and given."""
    rounds = max(5, ROUNDS // len(bodies))
    taken = [cpu(partial(played, Session(path), bodies)) for _ in range(rounds)]
    return min(taken) / len(bodies)


def opened(path: Path, bodies: Sequence[Body]) -> float:
    """Microseconds for opening a cassette and closing it."""
    times = []
    for _ in range(ROUNDS):
        opening = cpu(partial(Session, path))
        tape = Session(path)
        played(tape, bodies)
        times.append(opening + cpu(tape.finish))
    return min(times)


def show_runs(path: Path, bodies: Sequence[Body]) -> None:
    """The costs of runs and requests."""
    found = runs(path)
    print(f"{'ten turns, answered by':28} {'us':>7} {'a turn, above that':>19} {'runs a CPU second':>18}")
    for name, cost in found.items():
        above = (cost - found[DRIVEN]) / TURNS
        print(f"{name:28} {cost:>7,.0f} {above:>19,.1f} {1e6 / cost:>18,.0f}")
    replayed, bare = through_httpx(path, bodies)
    print(f"\na request of httpx's client takes {replayed:.0f} us, and {bare:.0f} us if answered at once\n")


def main() -> None:
    """Measure, and print the tables."""
    gc.disable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show_runs(folder / "ten.yaml", conversation(folder / "ten.yaml", TURNS))
        print(f"{'us for a request looked up, of':>32} {'in order':>9} {'backwards':>10} {'as one text':>12}")
        for size in SIZES:
            for said, make in (("a conversation", conversation), ("small ones", small_ones)):
                bodies = make(path := folder / f"{said}-{size}.yaml", size)
                orders = bodies, bodies[::-1], [(b"".join(body),) for body in bodies]
                ordered, backwards, whole = (looked_up(path, order) for order in orders)
                print(f"{f'{size:,} in {said}':>32} {ordered:>9.1f} {backwards:>10.1f} {whole:>12.1f}")
        print(f"\n{'a cassette opened and closed, of':>32} {'ms':>7}")
        for size in (1, 2, 5, 10):
            bodies = conversation(small := folder / f"{size}.yaml", size)
            print(f"{size:>32,} {opened(small, bodies) / 1e3:>7.2f}")


if __name__ == "__main__":
    main()
