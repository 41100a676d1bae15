"""Functions that other processes import: what may go wrong in one, and what may not."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import date, timedelta
from pathlib import Path

from toolreel import Image
from toolreel.tools import RunContext, ToolError, current_call, spend, tool
from toolreel_core._protocol import Spent


@tool(isolated=True)
def later(day: date, days: int = 1) -> date:
    """The day some days later."""
    sys.stdout.write("prints go elsewhere\n")
    return day + timedelta(days=days)


@tool(isolated=True)
async def soon(day: date) -> date:
    """The same day, after a pause."""
    await asyncio.sleep(0)
    return day


def which() -> list[str | int]:
    """Say which call this is, and in which process."""
    call = current_call()
    return [call.name, call.call_id, call.key, call.turn, os.getpid()]


def ask(cost: float | None) -> str:
    """Ask a model, and say what that took; without a cost, fail after it."""
    spend(Spent(10, 4, cost))
    if cost is None:
        raise ToolError("no answer")
    return "done"


def refuse() -> None:
    """Say why not."""
    raise ToolError("There is no such room.", "NO_ROOM", {"rooms": 0})


def crash() -> None:
    """Fail with what the model should not read."""
    raise KeyError("secret")


def hang(marker: str) -> None:
    """Start something, note its process id, and hang with it."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"]) as started:
        Path(marker).write_text(f"{started.pid}\n", encoding="utf-8")
        time.sleep(900)


def die() -> None:
    """Be ended from outside."""
    os.kill(os.getpid(), signal.SIGSEGV)


def lag(seconds: float) -> None:
    """Leave a thread behind that takes long."""
    threading.Thread(target=time.sleep, args=(seconds,)).start()


def stop() -> None:
    """Want the program to end."""
    raise SystemExit(3)


def devour(megabytes: int) -> int:
    """Take much memory."""
    return len(b"x" * megabytes * 2**20)


def flood(count: int) -> str:
    """Return much."""
    return "x" * count


def speak() -> None:
    """Say what is no answer, on every channel there is."""
    for channel in range(3, 10):
        try:
            os.write(channel, b"hello")
        except OSError:
            continue
    os._exit(0)


def environment() -> list[str]:
    """The names of the variables that can be seen."""
    return sorted(os.environ)


def with_context(run: RunContext[str]) -> str:
    """Ask for what cannot come."""
    return run.deps


class Shelf:
    """A place for a function."""

    @staticmethod
    def count(part: str) -> int:
        """How many there are."""
        return len(part)


def picture() -> list[object]:
    """A picture, from a process of its own."""
    return ["here:", Image.from_bytes(b"\x89PNG\r\n\x1a\n")]
