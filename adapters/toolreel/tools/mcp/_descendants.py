"""The processes that a process started, in whatever session or group they are; on Linux only.

Elsewhere nothing is found, and so nothing is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

_PARENT, _STARTED = 1, 19
"""Fields of /proc/PID/stat, counted from the one after the name of the command."""
_GONE: Final = (FileNotFoundError, ProcessLookupError)


class KnownProcess(NamedTuple):
    """A process by what no other one shares: a pid alone is used again after its process has ended."""

    pid: int
    started: int
    """In clock ticks since the system started."""


def known_process(pid: int) -> KnownProcess | None:
    """The process that has a pid now."""
    found = _look_up(pid)
    return found[0] if found else None


def with_descendants(known: frozenset[KnownProcess]) -> frozenset[KnownProcess]:
    """Those processes that still run, and all that these started.

    A process whose parent has ended is no longer found through it: look while the parent runs, and pass on
    what was found.
    """
    children = _children()
    found: set[KnownProcess] = set()
    left = [each for each in known if known_process(each.pid) == each]
    while left:
        process = left.pop()
        if process not in found:
            found.add(process)
            left += children.get(process.pid, ())
    return frozenset(found)


def kill(known: frozenset[KnownProcess]) -> None:
    """Kill those processes that still run."""
    for process in known:
        if known_process(process.pid) == process:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


def _children() -> Mapping[int, list[KnownProcess]]:
    """All processes, by the pid of their parent."""
    children: dict[int, list[KnownProcess]] = {}
    if sys.platform == "linux":
        for name in os.listdir("/proc"):
            if name.isdecimal() and (found := _look_up(int(name))):
                process, parent = found
                children.setdefault(parent, []).append(process)
    return children


def _look_up(pid: int) -> tuple[KnownProcess, int] | None:
    """A process, and the pid of its parent."""
    if sys.platform != "linux":
        return None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the command is in brackets, and may itself hold brackets and spaces.
            fields = file.read().rpartition(b")")[2].split()
    except _GONE:
        return None
    return KnownProcess(pid, int(fields[_STARTED])), int(fields[_PARENT])
