"""Isolation: run each call of a Python tool in a separate process.

Each call has a new process, because workers that are used again keep state and need a supervisor; that
costs a third of a second, which counts towards the deadline. **This is not a sandbox**: the process runs as
the same user, and can read files and use the network. It has only the environment variables that you name,
and no access to the memory of the run. Run hostile code in a container or a virtual machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from toolreel.tools._call_context import RunContext
from toolreel_core._config_checks import check_and_convert_settings
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json

_MAX_REPLY = 16 * 2**20
"""Bytes of a result; limits of the run may be lower."""
# PYTHONHASHSEED: if you pin it, the order of sets in a tool is the same in a process of its own.
_INHERITED = ("LANG", "LC_ALL", "LC_CTYPE", "PATH", "PYTHONHASHSEED", "SYSTEMROOT", "TMPDIR", "TZ")
# Not ``-m``: the process needs the ``sys.path`` of this one before it can import any of our modules.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from toolreel.tools._isolated_worker import serve_request; serve_request()"
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """Limits and environment of an isolated tool."""

    memory_bytes: int | None = None
    """Maximum address space of its process, on systems with such a limit (Linux)."""
    environment: tuple[str, ...] = ()
    """Names of environment variables to pass, besides a few that every program needs."""

    def __post_init__(self) -> None:
        check_and_convert_settings(self)

    def response(self, request: Mapping[str, Json], context: RunContext[Any]) -> Mapping[str, Any]:
        """The response of a new process that runs a call; it is killed when the call ends.

        :raises Crash: if there is no valid response
        """
        # Few tools are isolated, and ``subprocess`` is slow to import.
        from toolreel.tools._bounded_process import BoundedProcess, describe_exit, inherited_environment

        environment = inherited_environment((*_INHERITED, *self.environment))
        process = BoundedProcess([sys.executable, "-c", _PROGRAM, *sys.path], environment, _MAX_REPLY)
        context.on_end(process.kill)
        stdin = json.dumps({**request, "memory_bytes": self.memory_bytes}).encode()
        ended = process.run(stdin, inherit_stderr=True)
        if ended.stdout.size > _MAX_REPLY:
            raise Crash(f"it handed back more than {_MAX_REPLY} bytes")
        try:
            tree: Any = json.loads(ended.stdout.kept)
        except (ValueError, RecursionError):
            tree = None
        if not isinstance(tree, dict) or not isinstance(tree.get("event"), str):
            how = "was stopped" if ended.exit_code is None else describe_exit(ended.exit_code)
            raise Crash(f"it gave no answer: its process {how}")
        return tree


class Crash(Exception):
    """The process of a tool ended without a valid response."""

    def __init__(self, reason: str, trace: str = "") -> None:
        super().__init__(f"{reason}\n{trace}" if trace else reason)
        self.reason = reason
        """The reason, safe to show to the model; without the traceback."""


def import_path(function: Callable[..., object], place: str) -> str:
    """The path by which another process imports a function; :class:`ConfigError` if it cannot."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    try:
        found = resolve_name(f"{module}:{name}")
    except (ValueError, ImportError, AttributeError):  # such as a function inside another one
        found = None
    if module == "__main__" or not callable(found):
        raise ConfigError(
            f"{place}: a separate process could not import {function!r}; "
            "put it at the top level of a module that is not the main program"
        )
    return f"{module}:{name}"
