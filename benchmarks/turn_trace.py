"""Trace one turn over HTTP, offline, and count the modules and folders that it visits.

    python -m benchmarks.turn_trace            the figures, and the folders in order
    python -m benchmarks.turn_trace --modules  the modules in order instead
    python -m benchmarks.turn_trace --all      with the building blocks of the core

Two turns are traced, each in the second of two runs, so that nothing is imported meanwhile. ``plain`` is
an ordinary reply with one structured call. ``as text`` is the first turn of the recorded session
``cassettes/workspace``, whose model writes its calls as text. The real ``HttpEndpoint`` sends the
request over an httpx transport that answers offline, the reducer reads the reply, a Python tool runs,
and the reducer takes its result. The *reply* is the part in which the reducer has the reply: from
``ReplyReceived`` to the next effect.

A *step* is a call that enters another module (or folder) than the call before it; returns do not count,
nor do calls of other packages. The cassette and the demo's tools are left out, since they take the place
of a server and of your own tools. ``_jsontext`` and ``_config_checks`` are left out unless ``--all`` is
given: every part of the core calls these building blocks, and you need not read them to follow a turn.

Found with Python 3.11 on 2026-11-29, plain: a turn visits 34 modules in 12 folders, and a
reply 23 modules in 8 folders.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import FrameType

import httpx

from toolreel import Plan, Ports, PythonTools, Tool, run
from toolreel._driver import WATCHERS, Wanted, make_log_watch
from toolreel.cassette import use_cassette
from toolreel.demo import workspace
from toolreel.http import HttpEndpoint
from toolreel.journals import read_journal
from toolreel.testing import calling, saying
from toolreel.tools import signature_of
from toolreel_core import Event, SendRequest

__all__ = ["Trace", "as_text", "plain", "steps", "without_building_blocks"]

ROOT = Path(__file__).resolve().parents[1]
SESSION = next((ROOT / "cassettes" / "workspace").glob("*.yaml"))
SOURCES = tuple(f"{ROOT / folder}/" for folder in ("domain", "adapters"))
LEFT_OUT = ("toolreel/cassette/", "toolreel/demo/")
BUILDING_BLOCKS = ("toolreel_core/_jsontext/", "toolreel_core/_config_checks")


@dataclass(slots=True)
class Trace:
    """A performer that performs effects through ports, and keeps the module of every call of the project."""

    ports: Ports
    calls: list[str] = field(default_factory=list)
    """Paths such as ``toolreel_core/_loop/reducer.py``, in the order of the calls."""
    requests: list[int] = field(default_factory=list)
    """How many calls there were when each request was to be sent."""
    answers: list[int] = field(default_factory=list)
    """The same for each answer to an effect."""
    effects: list[int] = field(default_factory=list)
    """The same for each effect."""

    def perform(self, effect: Wanted) -> Event | None:
        """Perform an effect, and remember between which calls."""
        if isinstance(effect, SendRequest):
            self.requests.append(len(self.calls))
        self.effects.append(len(self.calls))
        event = self.ports.perform(effect)
        self.answers.append(len(self.calls))
        return event

    def called(self, frame: FrameType, event: str, _: object) -> None:
        """What ``sys.setprofile`` calls."""
        source = frame.f_code.co_filename
        for folder in SOURCES:
            if event == "call" and source.startswith(folder):
                module = source.removeprefix(folder)
                if not module.startswith(LEFT_OUT):
                    self.calls.append(module)

    @property
    def turn(self) -> list[str]:
        """The calls from the first request to the second."""
        return self.calls[self.requests[0] : self.requests[1]]

    @property
    def reply(self) -> list[str]:
        """The calls from the first reply to the next effect."""
        return self.calls[self.answers[0] : self.effects[1]]


def plain() -> Trace:
    """A turn with one structured call, answered by a scripted server."""
    plan = Plan.of(model="m", messages="How many pins?", tools=[signature_of(stock).definition])

    def run_once() -> Trace:
        replies = iter([calling(("stock", {"part": "pin"})), saying("41.")])
        return _run(plan, httpx.MockTransport(lambda _: httpx.Response(200, json=next(replies))), [stock])

    run_once()
    return run_once()


def as_text() -> Trace:
    """The first turn of a recorded session whose model writes its calls as text."""
    plan = read_journal(SESSION.with_suffix(".journal.jsonl")).plan

    def run_once() -> Trace:
        with use_cassette(SESSION) as session:
            return _run(plan, session.transport(), workspace())

    run_once()
    return run_once()


def stock(part: str) -> int:
    """Look up how many pieces of a part are in stock."""
    return len(part) * 10 + 11


def _run(plan: Plan, transport: httpx.BaseTransport, tools: Iterable[Callable[..., object] | Tool]) -> Trace:
    with HttpEndpoint("http://replay.invalid", transport=transport) as endpoint:
        trace = Trace(Ports(endpoint, PythonTools(tools)))
        before = sys.getprofile()
        WATCHERS.remove(make_log_watch)  # logs follow a turn, and decide nothing in it
        sys.setprofile(trace.called)
        try:
            run(plan, trace)
        finally:
            sys.setprofile(before)
            WATCHERS.append(make_log_watch)
    return trace


def steps(calls: Iterable[str], *, folders: bool = False) -> list[str]:
    """The modules (or the folders) that the calls enter, in order, each as often as it is entered."""
    entered = (str(Path(call).parent) for call in calls) if folders else calls
    return [name for name, _ in groupby(entered)]


def without_building_blocks(calls: Iterable[str]) -> list[str]:
    """The calls that you have to read to follow a turn."""
    return [call for call in calls if not call.startswith(BUILDING_BLOCKS)]


def _report(name: str, calls: list[str]) -> str:
    modules, folders = steps(calls), steps(calls, folders=True)
    return (
        f"{name}: {len(calls)} calls, {len(set(modules))} modules in {len(modules)} steps, "
        f"{len(set(folders))} folders in {len(folders)} steps"
    )


def main() -> None:
    """Print the figures of both turns, and where they go."""
    parser = argparse.ArgumentParser(description="Trace one turn over HTTP, offline.")
    parser.add_argument("--modules", action="store_true", help="list modules in order instead of folders")
    parser.add_argument("--all", action="store_true", help="with the building blocks of the core")
    arguments = parser.parse_args()
    for turn, trace in (("plain", plain()), ("as text", as_text())):
        for part, calls in (("turn", trace.turn), ("reply", trace.reply)):
            counted = calls if arguments.all else without_building_blocks(calls)
            print(_report(f"{part}, {turn}", counted))
            print(*steps(counted, folders=not arguments.modules), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
