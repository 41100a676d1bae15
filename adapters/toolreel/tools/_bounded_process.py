"""A child process with a deadline and limited output; it is killed together with its own children."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from toolreel._internal import start_in_daemon_thread

if TYPE_CHECKING:
    from anyio.abc import Process

# What a pipe of Linux holds (pipe(7)), so that one read empties it.
_CHUNK_SIZE = 64 * 1024
_GRACE = 1.0
"""Seconds to read output after the process has exited. Limited, because a descendant that left the process
group may hold the pipe open for ever."""


@dataclass(slots=True)
class ProcessOutput:
    kept: bytes | bytearray = field(default_factory=bytearray)
    """The first bytes, up to the limit."""
    size: int = 0
    """Total number of bytes written."""

    @property
    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")

    def read(self, pipe: IO[bytes], limit: int) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK_SIZE):
                self.size += len(chunk)
                self.kept += chunk[: limit - len(self.kept)]


class ProcessResult(NamedTuple):
    exit_code: int | None
    """Negative if a signal ended it; ``None`` if we killed it, at its deadline or by ``kill``."""
    stdout: ProcessOutput = ProcessOutput()
    stderr: ProcessOutput = ProcessOutput()


def inherited_environment(names: Sequence[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def describe_exit(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    # Real-time signals between SIGRTMIN and SIGRTMAX are missing from the enumeration.
    names = {each.value: each.name for each in signal.Signals}
    return f"was ended by {names.get(-status, f'signal {-status}')}"


SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL


def running_descendants(known: Mapping[int, int | None]) -> dict[int, int]:
    """Those processes that still run, and all that they started: the start of each, by its pid.

    Empty but on Linux. The start, in clock ticks, tells apart processes of one pid; ``None`` fits any.
    A process whose parent has ended is not found through it: look while it runs, and pass that on.
    """
    running: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        with suppress(FileNotFoundError, ProcessLookupError, NotADirectoryError):
            if name.isdecimal():
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name of the command is in brackets, and may itself hold brackets and spaces. Behind
                    # it stand the pid of the parent, at 1, and the start, at 19.
                    fields = file.read().rpartition(b")")[2].split()
                running[int(name)] = int(fields[1]), int(fields[19])
    found: dict[int, int] = {}
    more = {pid: running[pid][1] for pid in known.keys() & running if known[pid] in {None, running[pid][1]}}
    while more:
        found |= more
        more = {pid: began for pid, (parent, began) in running.items() if parent in more and pid not in found}
    return found


def kill_descendants(known: Mapping[int, int]) -> None:
    for pid in running_descendants(known):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, SIGKILL)


@dataclass(slots=True)
class BoundedProcess:
    """A process that runs once, and that any thread can kill at any time.

    Its process group is killed when it exits; at its deadline or by ``kill``, so is all that it started.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    limit: int
    """Bytes of each output stream that are kept; the rest is read and counted, so that the process never
    blocks on a full pipe."""
    cwd: Path | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _killed: threading.Event = field(default_factory=threading.Event, init=False)

    def run(
        self, stdin: bytes = b"", *, deadline: float = threading.TIMEOUT_MAX, inherit_stderr: bool = False
    ) -> ProcessResult:
        """Run the program to its end.

        :param stdin: its input; empty by default
        :param deadline: seconds after which it is killed
        :param inherit_stderr: whether it writes to the stderr of this process
        :raises OSError: if it cannot be started
        :raises ValueError: if an argument holds NUL or a lone surrogate
        """
        # Locked, so that a kill that comes while the process starts is not lost.
        with self._lock:
            if self._killed.is_set():
                return ProcessResult(None)
            process = self._process = subprocess.Popen(  # noqa: S603 - callers decide what may run
                self.command,
                cwd=self.cwd,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if inherit_stderr else subprocess.PIPE,
                start_new_session=True,
            )
        # The waiting thread may be a daemon thread, which is abandoned when the interpreter exits:
        # without this, the child process would survive.
        atexit.register(self.kill)
        timer = threading.Timer(deadline, self.kill)
        timer.daemon = True
        timer.start()
        ended = ProcessResult(None, ProcessOutput(), ProcessOutput())
        readers = [
            start_in_daemon_thread("output", partial(output.read, pipe, self.limit))
            for pipe, output in ((process.stdout, ended.stdout), (process.stderr, ended.stderr))
            if pipe
        ]
        try:
            if process.stdin is not None:
                with suppress(BrokenPipeError), process.stdin as pipe:
                    pipe.write(stdin)
            # Without reaping it, so that its group id cannot be reused yet. macOS has ``waitid`` since Python
            # 3.13, and Windows has neither it nor process groups to kill.
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            else:
                process.wait()
        finally:
            with self._lock:
                killed = self._killed.is_set()
                signal_group(process)
                exit_code = process.wait()
                self._process = None  # once reaped, its id may be reused by another process
            timer.cancel()
            atexit.unregister(self.kill)
        wait(readers, _GRACE)
        return ended if killed else ended._replace(exit_code=exit_code)

    def kill(self) -> None:
        with self._lock:
            self._killed.set()
            if self._process is not None:
                family = running_descendants({self._process.pid: None})
                signal_group(self._process)
                kill_descendants(family)  # what left the group


def signal_group(process: subprocess.Popen[bytes] | Process, how: signal.Signals = SIGKILL) -> None:
    """Send a signal to the process group; Windows has none, and terminates the process."""
    # PermissionError: of macOS, for a group that has ended and is not reaped (airspeed-velocity/asv#304).
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, how)
