"""A script as a process: no shell, little environment, bounded output, and an end for all that it started."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Final, cast

__all__ = ["Ended", "run_process"]

_PIECE: Final = 64 * 1024
_GRACE: Final = 1.0
"""Seconds in which output is still read once the process is gone."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and what it wrote."""

    exit_code: int | None
    """Negative where a signal ended it; ``None`` where it was ended at its deadline."""
    stdout: str
    stderr: str
    stdout_bytes: int
    """Bytes that it wrote, of which the first are kept."""
    stderr_bytes: int


def run_process(
    command: Sequence[str], cwd: Path, *, deadline: float, limit: int, further: Mapping[str, str]
) -> Ended:
    """Run a program to its end, or to its deadline.

    It gets no input. Of the environment it has ``PATH`` alone, and a folder of its own as ``HOME`` and
    ``TMPDIR``, which is removed when it has ended. Whatever it has started ends with it, unless that has
    left its group of processes.

    :param limit: bytes of each of its outputs that are kept; the rest is counted
    :param further: further variables of the environment
    :raises OSError: if it cannot be started
    :raises ValueError: if an argument holds NUL or half a character
    """
    with tempfile.TemporaryDirectory(prefix="toolreel-", ignore_cleanup_errors=True) as scratch:
        process = subprocess.Popen(  # noqa: S603 - what is run was allowed by name
            command,
            cwd=cwd,
            env={**_environment(scratch), **further},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        return _watched(process, deadline, limit)


def _watched(process: subprocess.Popen[bytes], deadline: float, limit: int) -> Ended:
    end = _End(process)
    atexit.register(end)  # whoever waits is perhaps a daemon thread, which Ctrl-C leaves behind
    out, err = (_Output(cast("IO[bytes]", pipe), limit) for pipe in (process.stdout, process.stderr))
    exit_code: int | None = None
    try:
        with suppress(subprocess.TimeoutExpired):
            exit_code = process.wait(deadline)
    finally:
        end()
        atexit.unregister(end)
    for output in (out, err):
        output.join(_GRACE)
    return Ended(exit_code, out.text(), err.text(), out.total, err.total)


@dataclass(frozen=True, slots=True)
class _End:
    """Ends a process and its group."""

    process: subprocess.Popen[bytes]

    def __call__(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class _Output(Thread):
    """Reads an output to its end, and keeps the beginning; whoever writes is never kept waiting."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._limit = limit
        self._kept = bytearray()
        self.total = 0
        self.start()

    def run(self) -> None:
        with self._pipe:
            while piece := os.read(self._pipe.fileno(), _PIECE):
                self.total += len(piece)
                self._kept += piece[: self._limit - len(self._kept)]

    def text(self) -> str:
        """What was kept, with a mark for what is not UTF-8."""
        return bytes(self._kept).decode("utf-8", "replace")


def _environment(scratch: str) -> dict[str, str]:
    wanted = ("PATH", "SYSTEMROOT")
    kept = {name: os.environ[name] for name in wanted if name in os.environ}
    own = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), scratch)
    return {**kept, **own, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
