"""Run a process with a deadline, bounded output and a certain end.

Isolated Python tools and the scripts of skills run on it. It blocks its thread; async hosts call it in a
thread of their own and use :meth:`BoundedProcess.kill` to cancel.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

__all__ = ["BoundedProcess", "Output", "ProcessResult", "inherited_environment"]

_CHUNK_SIZE: Final = 64 * 1024
_GRACE: Final = 1.0
"""Seconds in which output is still read once the process is gone: a descendant that has left the process
group may hold the pipe open for ever."""


class Output(NamedTuple):
    """What a process wrote to one of its streams."""

    kept: bytes = b""
    """The beginning, up to the limit."""
    size: int = 0
    """Bytes written in all."""

    @property
    def text(self) -> str:
        """What was kept, with a mark for each part that is not UTF-8."""
        return self.kept.decode("utf-8", "replace")


class ProcessResult(NamedTuple):
    """How a process ended, and what it wrote."""

    exit_code: int | None
    """Negative if a signal ended it; ``None`` if it was killed here, at its deadline or by ``kill``."""
    stdout: Output = Output()
    stderr: Output = Output()


def inherited_environment(names: Sequence[str]) -> dict[str, str]:
    """The variables of this process that a child process may see, as far as they are set."""
    return {name: os.environ[name] for name in names if name in os.environ}


class BoundedProcess:
    """A process that can run once, and that any thread can kill at any time.

    It runs in a process group of its own, and the whole group is killed as soon as the process ends, reaches
    its deadline or is killed. A descendant that leaves the group stays alive.

    :param environment: all variables that it sees
    :param limit: bytes of each output stream that are kept; the rest is read, counted and thrown away, so
        that the process is never blocked by a full pipe
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], limit: int, *, cwd: Path | None = None
    ) -> None:
        self._command = command
        self._environment = environment
        self._limit = limit
        self._cwd = cwd
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = threading.Event()

    def run(
        self, given: bytes | None = None, *, deadline: float | None = None, shares_stderr: bool = False
    ) -> ProcessResult:
        """Run the process to its end.

        :param given: its stdin; empty by default
        :param deadline: seconds after which it is killed
        :param shares_stderr: whether it writes to this process's own stderr
        :raises OSError: if it cannot be started
        :raises ValueError: if an argument holds NUL or a lone surrogate
        """
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
        with self._lock:
            if self._killed.is_set():
                return ProcessResult(None)
            process = self._process = subprocess.Popen(  # noqa: S603 - callers decide what may run
                self._command,
                cwd=self._cwd,
                env=self._environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=None if shares_stderr else subprocess.PIPE,
                start_new_session=True,
            )
        # The waiting thread may be a daemon thread, which the end of the program leaves behind.
        atexit.register(self.kill)
        timer = threading.Timer(threading.TIMEOUT_MAX if deadline is None else deadline, self.kill)
        timer.daemon = True
        timer.start()
        readers = [_Reader(pipe, self._limit) for pipe in (process.stdout, process.stderr) if pipe]
        try:
            if process.stdin is not None:
                with suppress(BrokenPipeError), process.stdin as pipe:
                    pipe.write(given or b"")
            _wait_without_reaping(process)
        finally:
            with self._lock:
                killed = self._killed.is_set()
                _kill_group(process)
                exit_code = process.wait()
                self._process = None  # from now on its id may belong to another process
            timer.cancel()
            atexit.unregister(self.kill)
        return ProcessResult(None if killed else exit_code, *(reader.output() for reader in readers))

    def kill(self) -> None:
        """Kill the process and its group; one that has not started yet never will."""
        with self._lock:
            self._killed.set()
            if self._process is not None:
                _kill_group(self._process)


class _Reader(threading.Thread):
    """Reads a stream to its end and keeps the beginning."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._limit = limit
        self._kept = bytearray()
        self._size = 0
        self.start()

    def run(self) -> None:
        with self._pipe:
            while piece := os.read(self._pipe.fileno(), _CHUNK_SIZE):
                self._size += len(piece)
                self._kept += piece[: self._limit - len(self._kept)]

    def output(self) -> Output:
        self.join(_GRACE)
        return Output(bytes(self._kept), self._size)


def _wait_without_reaping(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has ended; until it is reaped, its group can be killed safely.

    macOS has ``waitid`` since Python 3.13, and Windows has neither it nor process groups to kill.
    """
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
