"""Printing: results go to stdout, progress and errors to stderr.

On a terminal, text is coloured and wrapped between words; in a pipe it is plain and lines stay whole.
Whatever is printed goes through :func:`printable`: no secret that a command has named is in it, and what
cannot be seen is spelt out.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console
from rich.text import Text

from toolreel._internal import visible_text
from toolreel._secrets import RunningScrub, scrubbed, secrets_to_scrub
from toolreel_core._jsontext import Json


def go_unread(stream: IO[str]) -> None:
    """Drop what is printed from now on: the reader of the pipe has left, as ``head`` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Output(Console):
    """A console that prints nothing raw, for pipes whose reader may leave."""

    def print(self, *objects: object, **options: Any) -> None:  # noqa: ANN401 - options of rich
        if self.stderr:
            options.setdefault("soft_wrap", not self.is_terminal)
        super().print(*map(_without_control_characters, objects), **options)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        go_unread(self.file)


out = _Output(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = _Output(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)

_MARGIN = 12
_NARROWEST = 20
_GAP = "  "
_withheld: dict[str, str] = {}
"""What this process must not print, by name: like the terminal, there is one."""


def withhold(secrets: Mapping[str, str]) -> None:
    """Never print these values, given by name, in any spelling."""
    _withheld.update(secrets_to_scrub(secrets))


def running_scrub() -> RunningScrub:
    return RunningScrub(_withheld)


def complain(text: str, *, hint: str = "") -> None:
    whole = Text("error: ", style="bold red") + Text(printable(text), style="not bold default")
    err.print(whole)
    if hint:
        err.print(Text(f"  {printable(hint)}", style="yellow"))


def log_json(entry: Mapping[str, Any]) -> None:
    at = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
    print(printable(json.dumps({"at": at, **entry}, ensure_ascii=False)), file=sys.__stderr__, flush=True)


def labelled(label: str, text: str, style: str = "", *, mark: str = "", console: Console = out) -> None:
    indent = " " * (_MARGIN + len(mark))
    body = Text(printable(text), style=style)
    width = max(_NARROWEST, console.width - len(indent))
    lines = body.split("\n", allow_blank=True)
    if console.is_terminal:
        lines = body.wrap(console, width, overflow="fold")
        for line in lines:
            line.rstrip()
    head = Text(f"{label:<{_MARGIN}}", style="bold blue") + Text(mark, style=style)
    console.print(head + Text(f"\n{indent}").join(lines))


def printable(text: str) -> str:
    return visible_text.printable(scrubbed(text, _withheld))


def json_output(tree: object) -> Json:
    """Any value as JSON, for ``--json``: without what is withheld; the unseen is left to its encoding."""
    match tree:
        case None | bool() | int() | float():
            return tree
        case str() | Path():
            return scrubbed(str(tree), _withheld)
        case datetime():
            return tree.isoformat()
        case Mapping():
            return {scrubbed(key, _withheld): json_output(item) for key, item in tree.items()}
        case list() | tuple():
            return [json_output(item) for item in tree]
        case _:
            return json_output({each.name: getattr(tree, each.name) for each in fields(cast("Any", tree))})


def _without_control_characters(printed: object) -> object:
    match printed:
        case str():
            return printable(printed)
        case Text() if (plain := printable(printed.plain)) != printed.plain:
            printed.plain = plain
            return printed
        case _:
            return printed


def show_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    for row in (head, *rows):
        cells = [printable(cell).ljust(width) for cell, width in zip(row, widths, strict=False)]
        first = "".join(f"{cell}{_GAP}" for cell in cells)
        lines = _wrap_text(printable(row[-1]), out.width - len(first))
        indent = "\n" + " " * len(first)
        out.print((first + indent.join(lines)).rstrip(), style="bold blue" if row is head else "")


def _wrap_text(text: str, width: int) -> list[str]:
    if not out.is_terminal or width < _NARROWEST:
        return [text]
    return textwrap.wrap(text, width) or [""]
