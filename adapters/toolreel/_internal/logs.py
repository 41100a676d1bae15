"""Loggers: one a concern, below ``toolreel``; each record has its facts as fields.

A program that has not imported ``logging`` has configured none of it, so nothing is logged and nothing is
imported: that takes a third of the time of ``import toolreel``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    import logging

Concern: TypeAlias = Literal["loop", "http", "tools", "cassette", "durable", "proxy"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

CONCERNS: Final[Mapping[Concern, str]] = {
    "loop": "runs: their begin and end, and what the loop decides (repairs, nudges, rejected calls)",
    "http": "requests to models: sent, answered, failed, sent again",
    "tools": "tool calls: started, ended; the exceptions of your functions",
    "cassette": "recordings: loaded, saved",
    "durable": "workers: what is stored of each run, and where runs rest",
    "proxy": "requests of the proxy's clients, and what is not recorded",
}
"""Each logger below ``toolreel``, and what it tells."""
RENAMED: Final = {"name": "tool", "names": "tools", "is": "status"}
"""Fields whose names a log record or Python has taken."""


@cache
def logger(concern: Concern) -> logging.Logger:
    """The logger of a concern; without any handler of the application, it is silent."""
    import logging

    top = logging.getLogger("toolreel")
    if not top.handlers:
        top.addHandler(logging.NullHandler())
    return top.getChild(concern)


def is_on() -> bool:
    """Whether anything may be logged at all."""
    return "logging" in sys.modules


def is_heard(concern: Concern, level: Level) -> bool:
    """Whether anybody wants such a record: what is in it need not be put together otherwise."""
    logging = sys.modules.get("logging")
    return logging is not None and logger(concern).isEnabledFor(_number(logging, level))


def log(concern: Concern, level: Level, event: str, told: Mapping[str, object]) -> None:
    """Log an event with its fields, if somebody listens.

    :param event: what happened, such as ``retry_planned``
    :param told: the fields; those that are ``None`` or empty are left out
    """
    logging = sys.modules.get("logging")
    if logging is None:
        return
    found, number = logger(concern), _number(logging, level)
    if found.isEnabledFor(number):
        shown = _fields(told)
        text = " ".join([event, *(f"{name}={_short(value)}" for name, value in shown.items())])
        found.log(number, "%s", text, extra={"event": event, **shown}, stacklevel=2)


def log_error(concern: Concern, message: str, told: Mapping[str, object], error: Exception) -> None:
    """Log an exception that nobody must miss: where no handler is configured, it goes to stderr."""
    import logging

    found = logger(concern)
    extra = {"event": "error", **_fields(told)}
    found.error(message, exc_info=error, extra=extra)
    if not _is_configured(found) and logging.lastResort is not None:
        info = (type(error), error, error.__traceback__)
        logging.lastResort.handle(
            found.makeRecord(found.name, logging.ERROR, __file__, 0, message, (), info, extra=extra)
        )


def _number(logging: ModuleType, level: Level) -> int:
    number: int = getattr(logging, level.upper())
    return number


def _fields(told: Mapping[str, object]) -> dict[str, object]:
    return {RENAMED.get(key, key): value for key, value in told.items() if value not in (None, "", ())}


def _short(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _is_configured(found: logging.Logger) -> bool:
    """Whether a handler but our own gets what this logger is given."""
    import logging

    at: logging.Logger | None = found
    while at is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in at.handlers):
            return True
        at = at.parent if at.propagate else None
    return False
