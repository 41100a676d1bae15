"""What every driver in Python shares: the tools, and the conversation with the runner.

Only the standard library is used, since each driver runs in an environment of its own. The runner
writes one case a line to standard input; a driver answers with ``{"ran": ...}`` for each execution,
as it happens, and ``{"done": ...}`` at the end of the case.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = [
    "FUNCTIONS",
    "KEY",
    "MODEL",
    "PROMPT",
    "SCHEMAS",
    "Case",
    "Execution",
    "berth_plan",
    "clock",
    "drive",
    "log_entry",
    "tide_at",
    "watched",
]

MODEL = "test-model"
KEY = "sk-conformance"
PROMPT = "Prepare the harbour report with the tools that you have."


@dataclass(frozen=True)
class Case:
    """One run to be made."""

    shape: str
    base_url: str
    stream: bool


Execution = tuple[str, dict[str, object]]
"""A tool's name, and the arguments that it got."""

_WATCHERS: list[Callable[[Execution], None]] = []


def _ran(tool: str, **arguments: object) -> str:
    for watcher in _WATCHERS:
        watcher((tool, arguments))
    return json.dumps({"done": tool})


@contextmanager
def watched() -> Generator[list[Execution]]:
    """What runs in this process while the block is open."""
    ran: list[Execution] = []
    _WATCHERS.append(ran.append)
    try:
        yield ran
    finally:
        _WATCHERS.remove(ran.append)


def tide_at(port: str) -> str:
    """When the tide is high at a port.

    Args:
        port: Name of the port.
    """
    return _ran("tide_at", port=port)


def clock() -> str:
    """The time at the harbour."""
    return _ran("clock")


def log_entry(title: str, text: str) -> str:
    """Write an entry into the harbour log.

    Args:
        title: Title of the entry.
        text: Text of the entry.
    """
    return _ran("log_entry", title=title, text=text)


def berth_plan(ships: list[str], limits: dict[str, int]) -> str:
    """Plan the berths.

    Args:
        ships: Names of the ships.
        limits: Limits by name.
    """
    return _ran("berth_plan", ships=ships, limits=limits)


FUNCTIONS: tuple[Callable[..., str], ...] = (tide_at, clock, log_entry, berth_plan)

_TEXT = {"type": "string"}
_PARAMETERS: dict[str, dict[str, object]] = {
    "tide_at": {"port": _TEXT},
    "clock": {},
    "log_entry": {"title": _TEXT, "text": _TEXT},
    "berth_plan": {
        "ships": {"type": "array", "items": _TEXT},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}

SCHEMAS: list[dict[str, object]] = [
    {
        "type": "function",
        "function": {
            "name": function.__name__,
            "description": (inspect.getdoc(function) or "").splitlines()[0],
            "parameters": {
                "type": "object",
                "properties": _PARAMETERS[function.__name__],
                "required": list(_PARAMETERS[function.__name__]),
            },
        },
    }
    for function in FUNCTIONS
]
"""The same tools as a request carries them, for loops that are written by hand."""


def drive(ask: Callable[[Case], object]) -> None:
    """Answer the runner's cases until there are no more.

    :param ask: makes one run, with everything fresh, and returns the final text
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    lock = threading.Lock()
    os.dup2(2, 1)  # what libraries print is no answer
    sys.stdout = sys.stderr

    def say(kind: str, what: object) -> None:
        with lock:
            print(json.dumps({kind: what}), file=out, flush=True)

    _WATCHERS.append(lambda ran: say("ran", {"tool": ran[0], "arguments": ran[1]}))
    say("ready", {})
    for line in sys.stdin:
        case = Case(**json.loads(line))
        try:
            done: dict[str, object] = {"text": str(ask(case))}
        except BaseException as error:  # noqa: BLE001  # whatever a loop raises is what it came to
            done = {"error": _cause(error)}
        say("done", done)


def _cause(error: BaseException) -> dict[str, str]:
    """The exception; of a group, the first in it."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return {"kind": type(error).__name__, "message": str(error)[:400]}
