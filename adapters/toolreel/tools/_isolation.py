"""Isolation: run each call of a Python tool in a separate process.

A call that hangs is killed at its deadline, with all its child processes. If a call crashes or exceeds its
memory limit, only that call fails. **This is not a sandbox**: the process runs as the same user, and can read
files and use the network. It has only the environment variables that you name, and no access to the memory
of the run. Run hostile code in a container or a virtual machine.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import IO, Any, Final, NamedTuple, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json

_CHUNK_SIZE: Final = 64 * 1024
_GRACE: Final = 1.0
"""Seconds to read output after the process has exited. Limited, because a descendant that left the process
group may hold the pipe open for ever."""


class Output(NamedTuple):
    """Output of a process on one stream."""

    kept: bytes = b""
    """The first bytes, up to the limit."""
    size: int = 0
    """Total number of bytes written."""

    @property
    def text(self) -> str:
        """The kept bytes as text; invalid UTF-8 is replaced."""
        return self.kept.decode("utf-8", "replace")


class ProcessResult(NamedTuple):
    """Exit code and output of a process."""

    exit_code: int | None
    """Negative if a signal ended it; ``None`` if we killed it, at its deadline or by ``kill``."""
    stdout: Output = Output()
    stderr: Output = Output()


def inherited_environment(names: Sequence[str]) -> dict[str, str]:
    """The named environment variables of this process that are set."""
    return {name: os.environ[name] for name in names if name in os.environ}


class BoundedProcess:
    """A process that runs once, and that any thread can kill at any time.

    It runs in a new process group. The whole group is killed when the process exits, reaches its deadline or
    is killed. A descendant that leaves the group stays alive.

    :param environment: all its environment variables
    :param limit: bytes of each output stream that are kept; the rest is read and counted, so that
        the process never blocks on a full pipe
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
        self, stdin: bytes | None = None, *, deadline: float | None = None, inherit_stderr: bool = False
    ) -> ProcessResult:
        """Run the process to its end.

        :param stdin: its input; empty by default
        :param deadline: seconds after which it is killed
        :param inherit_stderr: whether it writes to the stderr of this process
        :raises OSError: if it cannot be started
        :raises ValueError: if an argument holds NUL or a lone surrogate
        """
        pipe_or_null = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        with self._lock:
            if self._killed.is_set():
                return ProcessResult(None)
            process = self._process = subprocess.Popen(  # noqa: S603 - callers decide what may run
                self._command,
                cwd=self._cwd,
                env=self._environment,
                stdin=pipe_or_null,
                stdout=subprocess.PIPE,
                stderr=None if inherit_stderr else subprocess.PIPE,
                start_new_session=True,
            )
        # The waiting thread may be a daemon thread, which is abandoned when the interpreter exits:
        # without this, the child process would survive.
        atexit.register(self.kill)
        timer = threading.Timer(threading.TIMEOUT_MAX if deadline is None else deadline, self.kill)
        timer.daemon = True
        timer.start()
        readers = [_Reader(pipe, self._limit) for pipe in (process.stdout, process.stderr) if pipe]
        try:
            if process.stdin is not None:
                with suppress(BrokenPipeError), process.stdin as pipe:
                    pipe.write(stdin or b"")
            _wait_without_reaping(process)
        finally:
            with self._lock:
                killed = self._killed.is_set()
                _kill_group(process)
                exit_code = process.wait()
                self._process = None  # once reaped, its id may be reused by another process
            timer.cancel()
            atexit.unregister(self.kill)
        return ProcessResult(None if killed else exit_code, *(reader.output() for reader in readers))

    def kill(self) -> None:
        """Kill the process and its group; if it has not started, it never will."""
        with self._lock:
            self._killed.set()
            if self._process is not None:
                _kill_group(self._process)


class _Reader(threading.Thread):
    """Reads a stream to its end and keeps the first bytes."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._limit = limit
        self._kept = bytearray()
        self._size = 0
        self.start()

    def run(self) -> None:
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), _CHUNK_SIZE):
                self._size += len(chunk)
                self._kept += chunk[: self._limit - len(self._kept)]

    def output(self) -> Output:
        self.join(_GRACE)
        return Output(bytes(self._kept), self._size)


def _wait_without_reaping(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has exited, without reaping it, so that its group id cannot be reused yet.

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


_MIB: Final = 2**20
_INHERITED: Final = ("LANG", "LC_ALL", "LC_CTYPE", "PATH", "PYTHONHASHSEED", "SYSTEMROOT", "TMPDIR", "TZ")
_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from toolreel.tools._isolated_worker import serve_request; serve_request()"
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """Limits and environment of an isolated tool."""

    memory_bytes: int | None = None
    """Maximum address space of its process, on systems with such a limit (Linux)."""
    max_reply_bytes: int = 16 * _MIB
    """Maximum size of the result; a larger one fails the call. Limits of the run may be lower."""
    environment: tuple[str, ...] = ()
    """Names of environment variables to pass, besides a few that every program needs."""


class Crash(Exception):
    """The process of a tool ended without a valid response."""

    def __init__(self, reason: str, trace: str = "") -> None:
        super().__init__(f"{reason}\n{trace}" if trace else reason)
        self.reason = reason
        """The reason, safe to show to the model; without the traceback."""


def target_of(function: Callable[..., object], place: str) -> str:
    """The import path of a function for another process: ``module:qualname``.

    :raises ConfigError: if another process could not import it
    """
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    found: object = None
    if module not in {"", "__main__"}:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
    if not name or found is None or not callable(found):
        raise ConfigError(
            f"{place}: a separate process could not import {function!r}; "
            "put it at the top level of a module that is not the main program"
        )
    return f"{module}:{name}"


class IsolatedCall:
    """One call in a separate process."""

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation
        environment = inherited_environment((*_INHERITED, *isolation.environment))
        command = [sys.executable, "-c", _PROGRAM, *sys.path]
        self._process = BoundedProcess(command, environment, isolation.max_reply_bytes)
        self.kill = self._process.kill

    def run(self, request: Mapping[str, Json]) -> Mapping[str, Json]:
        """Run the call, and return the response of the process.

        :raises Crash: if there is no valid response
        """
        memory = self._isolation.memory_bytes
        stdin = json.dumps({**request, "memory_bytes": memory}).encode()
        ended = self._process.run(stdin, inherit_stderr=True)
        if ended.stdout.size > self._isolation.max_reply_bytes:
            raise Crash(f"it handed back more than {self._isolation.max_reply_bytes} bytes")
        try:
            tree: Any = json.loads(ended.stdout.kept)
        except (ValueError, RecursionError):
            tree = None
        if not isinstance(tree, dict) or not isinstance(tree.get("output"), str):
            raise Crash(f"it gave no answer: {_exit_reason(ended.exit_code)}")
        return cast("Mapping[str, Json]", tree)


def _exit_reason(exit_code: int | None) -> str:
    """Why a process ended, in words for the model."""
    if exit_code is None:
        return "its process was stopped"
    if exit_code >= 0:
        return f"its process ended with status {exit_code}"
    # Real-time signals between SIGRTMIN and SIGRTMAX are missing from the enumeration.
    names = {signal.value: signal.name for signal in Signals}
    return f"its process was ended by {names.get(-exit_code, f'signal {-exit_code}')}"
