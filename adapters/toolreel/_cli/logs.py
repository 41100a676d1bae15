"""Logs of the command line on stderr: ``--log-level`` and its variables."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import click

from toolreel._internal import CONCERNS, printable

LEVELS: Final = ("debug", "info", "warning", "error")
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has."""


def log_to_stderr(asked: str, form: str) -> None:
    """Write what toolreel logs to stderr.

    :param asked: a level, or levels of single loggers: ``info,http=debug``
    :param form: ``text`` or ``json``
    :raises click.BadParameter: if there is no such level or logger
    """
    handler = logging.StreamHandler(sys.__stderr__)
    line = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    handler.setFormatter(_Json() if form == "json" else _Text(line, "%H:%M:%S"))
    top = logging.getLogger("toolreel")
    top.addHandler(handler)
    top.propagate = False
    for name, level in levels_in(asked):
        logging.getLogger(name).setLevel(level.upper())


def levels_in(asked: str) -> Iterator[tuple[str, str]]:
    """The level of each logger.

    >>> [*levels_in("info,http=debug")]
    [('toolreel', 'info'), ('toolreel.http', 'debug')]

    :raises click.BadParameter: if there is no such level or logger
    """
    for part in asked.lower().split(","):
        concern, _, level = part.strip().rpartition("=")
        if level not in LEVELS or (concern and concern not in CONCERNS):
            loggers = ", ".join(CONCERNS)
            raise click.BadParameter(
                f"{part.strip()!r}: expected {', '.join(LEVELS)}, or LOGGER=LEVEL with one of {loggers}",
                param_hint="--log-level",
            )
        yield f"toolreel.{concern}" if concern else "toolreel", level


class _Text(logging.Formatter):
    """A line for people."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class _Json(logging.Formatter):
    """A line for machines, with the fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {key: value for key, value in vars(record).items() if key not in _OWN}
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = {"at": at, "level": record.levelname.lower(), "logger": record.name, **fields}
        if record.exc_info:
            told |= {"message": record.getMessage(), "exception": self.formatException(record.exc_info)}
        return printable(json.dumps(told, ensure_ascii=False, default=str))
