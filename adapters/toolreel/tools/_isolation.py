"""Tools in processes of their own, which can be killed: :class:`Isolation`, and the process of one call.

A call that hangs is killed at its deadline with all that it started; one that crashes, or takes more memory
than it may, fails by itself, and the run goes on. **This is no sandbox**: the process runs as the same user,
and may read files and use the network like any other. It does not see the environment of the run, unless a
variable is named, nor its memory. Code that may be hostile belongs into a container or a virtual machine.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json

__all__ = ["Crash", "IsolatedCall", "Isolation", "target_of"]

_MIB: Final = 2**20
_SEEN: Final = ("LANG", "LC_ALL", "LC_CTYPE", "PATH", "PYTHONHASHSEED", "SYSTEMROOT", "TMPDIR", "TZ")
_START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; from toolreel.tools._isolated_worker import main; main()"
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """How a tool is kept apart."""

    memory_bytes: int | None = None
    """Address space that its process may take, where the system has such a limit, as Linux has."""
    max_reply_bytes: int = 16 * _MIB
    """Bytes that its process may hand back before it is stopped; the model may see less."""
    environment: tuple[str, ...] = ()
    """Names of environment variables that it may see, beside a few that any program needs."""


class Crash(Exception):
    """The process of a tool ended without an answer, or what it said is none."""

    def __init__(self, why: str, trace: str = "") -> None:
        super().__init__(f"{why}\n{trace}" if trace else why)
        self.why = why
        """In words that the model may read."""


def target_of(function: Callable[..., object], place: str) -> str:
    """Where another process finds a function: ``module:qualname``.

    :raises ConfigError: if it does not
    """
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    found: object = None
    if module not in {"", "__main__"}:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
    if not name or found is None or not callable(found):
        raise ConfigError(
            f"{place}: a process of its own could not import {function!r}; "
            "put it at the top level of a module that is not the main program"
        )
    return f"{module}:{name}"


class IsolatedCall:
    """One call in a process of its own."""

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False

    def ask(self, question: Mapping[str, Json]) -> Mapping[str, Json]:
        """What the process answers.

        :raises Crash: if it gives no answer
        """
        memory = self._isolation.memory_bytes
        process = self._started()
        assert process.stdin is not None, "it was asked for"  # noqa: S101
        assert process.stdout is not None, "it was asked for"  # noqa: S101
        try:
            with suppress(BrokenPipeError), process.stdin as question_pipe:
                question_pipe.write(json.dumps({**question, "memory_bytes": memory}).encode())
            answer = process.stdout.read(self._isolation.max_reply_bytes + 1)
            if len(answer) > self._isolation.max_reply_bytes:
                raise Crash(f"it handed back more than {self._isolation.max_reply_bytes} bytes")
            return _read(answer, process)
        finally:
            self._reap(process)

    def kill(self) -> None:
        """End the process, and all that it started and that stayed with it."""
        with self._lock:
            self._over = True
            if self._process is not None:
                _kill(self._process)

    def _started(self) -> subprocess.Popen[bytes]:
        names = (*_SEEN, *self._isolation.environment)
        with self._lock:
            if self._over:
                raise Crash("it was stopped before it began")
            self._process = subprocess.Popen(  # noqa: S603 - this very Python
                [sys.executable, "-c", _START, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={name: os.environ[name] for name in names if name in os.environ},
                start_new_session=True,
            )
            return self._process

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            _kill(process)
            process.wait()
            self._process = None
        if process.stdout is not None:
            process.stdout.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _read(answer: bytes, process: subprocess.Popen[bytes]) -> Mapping[str, Json]:
    try:
        tree: Any = json.loads(answer)
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or not isinstance(tree.get("output"), str):
        raise Crash(f"it gave no answer: {_ending(process)}")
    return cast("Mapping[str, Json]", tree)


def _ending(process: subprocess.Popen[bytes]) -> str:
    """How a process ended that no longer answers."""
    if hasattr(os, "waitid"):
        # Without taking the process off the books: until then its group can be killed safely.
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if ended is not None and ended.si_code != os.CLD_EXITED:
            return f"its process was ended by {signal.Signals(ended.si_status).name}"
        return f"its process ended with status {'?' if ended is None else ended.si_status}"
    return f"its process ended with status {process.wait()}"
