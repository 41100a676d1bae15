"""Loggers: one a concern, below ``toolreel``; each record has its facts as fields.

No handler is installed, so warnings go to stderr in a program that configures none, as Python has it. Such
a program has mostly not imported ``logging``, which takes a third of the time of ``import toolreel``: there,
the first warning imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import logging

Concern: TypeAlias = Literal["loop", "http", "tools", "cassette", "durable", "proxy"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

CONCERNS: Mapping[Concern, str] = {
    "loop": "runs: their begin and end, and what the loop decides (repairs, nudges, rejected calls)",
    "http": "requests to models: sent, answered, failed, sent again",
    "tools": "tool calls: started, ended; the exceptions of your functions",
    "cassette": "recordings: loaded, saved",
    "durable": "workers: what is stored of each run, and where runs rest",
    "proxy": "requests of the proxy's clients, and what is not recorded",
}
_NUMBERS: Mapping[LogLevel, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""The levels of ``logging``."""
_SHOWN: set[LogLevel] = {"warning", "error"}
"""What a program sees that configures no logging."""
RENAMED = {"name": "tool", "names": "tools", "is": "status"}
"""Fields whose names a log record or Python has taken."""


@cache
def logger(concern: Concern) -> logging.Logger:
    import logging

    top = logging.getLogger("toolreel")
    if "warning" not in _SHOWN and top.level == logging.NOTSET:
        top.setLevel(logging.ERROR)
    return top.getChild(concern)


def show_only_errors() -> None:
    """Log no warnings, in a program that tells of them itself, unless a level is set."""
    _SHOWN.discard("warning")


def is_log_enabled(concern: Concern, level: LogLevel) -> bool:
    """Whether such a record is logged; if not, its fields need not be collected."""
    if "logging" not in sys.modules and level not in _SHOWN:
        return False
    return logger(concern).isEnabledFor(_NUMBERS[level])


def log(concern: Concern, level: LogLevel, event: str, told: Mapping[str, object], words: str = "") -> None:
    """Log an event with its fields, if somebody listens.

    :param event: what happened, such as ``retry_planned``
    :param told: the fields; those that are ``None`` or empty are left out
    :param words: the text of the record; by default, the event and its fields
    """
    if is_log_enabled(concern, level):
        shown = _fields_to_log(told)
        text = words or " ".join([event, *(f"{name}={_field_text(value)}" for name, value in shown.items())])
        logger(concern).log(_NUMBERS[level], "%s", text, extra={"event": event, **shown}, stacklevel=2)


def log_error(concern: Concern, message: str, told: Mapping[str, object], error: Exception) -> None:
    logger(concern).error(message, exc_info=error, extra={"event": "error", **_fields_to_log(told)})


def _fields_to_log(told: Mapping[str, object]) -> dict[str, object]:
    return {RENAMED.get(key, key): value for key, value in told.items() if value not in (None, "", ())}


def _field_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
