"""Python tools that run in a process of their own.

A call that hangs is killed at its deadline with everything it started; one that crashes or exceeds its memory
limit fails alone, and the run goes on. **This is not a sandbox**: the process runs as the same user, and can
read files and use the network. It sees only the environment variables that you name, and not the memory of
the run. Hostile code belongs in a container or a virtual machine.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from signal import Signals
from typing import Any, Final, cast

from toolreel.tools._bounded_process import BoundedProcess, inherited_environment
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json

__all__ = ["Crash", "IsolatedCall", "Isolation", "target_of"]

_MIB: Final = 2**20
_INHERITED: Final = ("LANG", "LC_ALL", "LC_CTYPE", "PATH", "PYTHONHASHSEED", "SYSTEMROOT", "TMPDIR", "TZ")
_PROGRAM: Final = "import sys; sys.path[:] = sys.argv[1:]; from toolreel.tools._isolated_worker import serve_request; serve_request()"


@dataclass(frozen=True, slots=True)
class Isolation:
    """How a tool is kept apart."""

    memory_bytes: int | None = None
    """Address space that its process may take, where the system has such a limit, as Linux has."""
    max_reply_bytes: int = 16 * _MIB
    """Largest reply in bytes; a larger one fails the call. The model may see less."""
    environment: tuple[str, ...] = ()
    """Names of environment variables that it may see, besides a few that every program needs."""


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
        environment = inherited_environment((*_INHERITED, *isolation.environment))
        command = [sys.executable, "-c", _PROGRAM, *sys.path]
        self._process = BoundedProcess(command, environment, isolation.max_reply_bytes)
        self.kill = self._process.kill

    def ask(self, question: Mapping[str, Json]) -> Mapping[str, Json]:
        """What the process answers.

        :raises Crash: if it gives no answer
        """
        memory = self._isolation.memory_bytes
        asked = json.dumps({**question, "memory_bytes": memory}).encode()
        ended = self._process.run(asked, shares_stderr=True)
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
    """How a process ended that no longer answers."""
    if exit_code is None:
        return "its process was stopped"
    if exit_code >= 0:
        return f"its process ended with status {exit_code}"
    # Real-time signals between SIGRTMIN and SIGRTMAX have no name in the enumeration.
    names = {signal.value: signal.name for signal in Signals}
    return f"its process was ended by {names.get(-exit_code, f'signal {-exit_code}')}"
