"""A process that holds recorded runs in processes of its own, which are there to be killed.

It reads one JSON object a line, ``{"mode", "folder", "url", "kill_after", "limit"}``, where the mode is
"run", "resume" or "talk", forks, kills the child after this many seconds unless that is null, and writes its
exit code. With a limit, no file of the child grows beyond this many bytes: a write fails there, as on a full
disk. Everything is imported before, so that a child does nothing but run, and a kill comes into the middle
of that. The tools act on the world: each appends the key of its call to ``acts`` in the folder, and has it
on the disk before it answers.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from toolreel._cli import LiveSession, LiveTarget
from toolreel._driver import Ports, run
from toolreel._journal import FileJournal, part_path, read_journal
from toolreel._replay import resume
from toolreel.http import HttpEndpoint
from toolreel.tools import PythonTools, Toolbox, ToolLike, current_call
from toolreel_core._plan import Plan
from toolreel_core._protocol import UserSpoke
from toolreel_core._settings import LoopConfig

NAME = "booked"
SAID = ("Go on.", "Are they all paid for?", "Thanks!")
"""What the user says in the conversation after its first exchange, which ends at ``max_turns``."""
PADDING = 4_000
"""Characters of a tool's result, so that writing a line takes time."""


def act(folder: Path) -> None:
    """Do something that must not be done twice."""
    with (folder / "acts").open("a") as file:
        file.write(f"{current_call().key}\n")
        file.flush()
        os.fsync(file.fileno())


def tools(folder: Path) -> list[ToolLike]:
    """A tool for each thing that can be booked."""

    def book(room: int) -> dict[str, object]:
        """Book a room."""
        act(folder)
        return {"room": room, "paper": "x" * PADDING}

    def pay(room: int) -> str:
        """Pay for a room."""
        act(folder)
        return f"paid {room}"

    return [book, pay]


def talk(folder: Path, url: str) -> None:
    """Begin the conversation, or go on with it; its journal is closed after each exchange."""
    path, given = folder / f"{NAME}.journal.jsonl", tools(folder)
    with HttpEndpoint(url) as endpoint:
        ports = Ports(endpoint, PythonTools(given))
        if path.exists() or part_path(path).exists():
            resume(path, ports)
        else:
            plan = Plan.of(
                model="m",
                messages="Book rooms.",
                tools=Toolbox(given).surface,
                config=LoopConfig(max_turns=3),
            )
            with FileJournal(path, plan) as journal:
                run(plan, ports, journal=journal)
        said = [event for event in read_journal(path).events if isinstance(event, UserSpoke)]
        for message in SAID[len(said) :]:
            resume(path, ports, say=message)


def hold(mode: str, folder: Path, url: str) -> None:
    """Begin the run, or go on with it."""
    if mode == "talk":
        talk(folder, url)
        return
    given, path, target = tools(folder), folder / f"{NAME}.yaml", LiveTarget(url)
    if mode == "resume":
        LiveSession(target, given).resume(path)
        return
    plan = Plan.of(
        model="m", messages="Book five rooms.", tools=Toolbox(given).surface, config=LoopConfig(max_turns=20)
    )
    LiveSession(target, given).run(plan, path)


@contextmanager
def leaving() -> Generator[None]:
    """End this process with the block, in whatever way that ends."""
    code = 1
    try:
        yield
        code = 0
    finally:
        if code:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Hold one run after the other."""
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            with leaving():
                if asked["limit"] is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (asked["limit"], resource.RLIM_INFINITY))
                hold(asked["mode"], Path(asked["folder"]), asked["url"])
        if asked["kill_after"] is not None:
            time.sleep(asked["kill_after"])
            os.kill(child, signal.SIGKILL)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
