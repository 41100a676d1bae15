"""Logs of the command line on stderr: ``--log-level`` and its variables."""

from __future__ import annotations

import logging
import sys
import time

from toolreel._cli.console import json_log_line, printable

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has."""


def log_to_stderr(level: str, form: str) -> None:
    handler = logging.StreamHandler(sys.__stderr__)
    line = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    handler.setFormatter(_Json() if form == "json" else _Text(line, "%H:%M:%S"))
    top = logging.getLogger("toolreel")
    top.addHandler(handler)
    top.propagate = False
    top.setLevel(level.upper())


class _Text(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {key: value for key, value in vars(record).items() if key not in _OWN}
        told = {"level": record.levelname.lower(), "logger": record.name, **fields}
        if record.exc_info:
            told |= {"message": record.getMessage(), "exception": self.formatException(record.exc_info)}
        return json_log_line(record.created, told)
