"""Printing: results go to stdout, progress and errors to stderr.

On a terminal, text is coloured and wrapped between words; in a pipe it is plain and lines stay whole.
Whatever is printed goes through :func:`printable`: no secret that a command has named is in it, and what
cannot be seen is spelt out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from rich.box import Box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from toolreel._internal import visible_text
from toolreel._secrets import RunningScrub, scrubbed, secrets_to_scrub
from toolreel_core._jsontext import Json


def discard_output(stream: IO[str]) -> None:
    """Drop what is printed from now on: the reader of the pipe has left, as ``head`` does."""
    # The descriptor, so that Python's own flush at exit does not fail either.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Output(Console):
    """A console that prints nothing raw, for pipes whose reader may leave."""

    def print(self, *objects: object, **options: Any) -> None:  # noqa: ANN401 - options of rich
        if self.stderr:
            options.setdefault("soft_wrap", not self.is_terminal)
        super().print(*map(_without_control_characters, objects), **options)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        discard_output(self.file)


out = _Output(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = _Output(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)

_MARGIN = 12
# On a narrower terminal, lines run over instead of having a word each.
_NARROWEST = 20
_NARROWEST_TABLE = 60
# rich needs a width; in a pipe, no line is wrapped.
_WHOLE_TABLE = 100_000
_withheld: dict[str, str] = {}
"""What this process must not print, by name: like the terminal, there is one."""


def withhold_secrets(secrets: Mapping[str, str]) -> None:
    """Never print these values, given by name, in any spelling."""
    _withheld.update(secrets_to_scrub(secrets))


def streaming_secret_scrubber() -> RunningScrub:
    return RunningScrub(_withheld)


def complain(text: str, *, hint: str = "") -> None:
    whole = Text("error: ", style="bold red") + Text(printable(text), style="not bold default")
    err.print(whole)
    if hint:
        err.print(Text(f"  {printable(hint)}", style="yellow"))


def json_log_line(seconds: float, entry: Mapping[str, Any]) -> str:
    """A line of a log, with its time in seconds since 1970."""
    at = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return printable(json.dumps({"at": at, **entry}, ensure_ascii=False, default=str))


def log_json(entry: Mapping[str, Any]) -> None:
    print(json_log_line(time.time(), entry), file=sys.__stderr__, flush=True)


def print_labelled(label: str, text: str, style: str = "", *, mark: str = "", console: Console = out) -> None:
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
    return visible_text.printable_text(scrubbed(text, _withheld))


def scrubbed_json(tree: object) -> Json:
    """Any value as JSON, for ``--json``: without what is withheld; the unseen is left to its encoding."""
    match tree:
        case None | bool() | int() | float():
            return tree
        case str() | Path():
            return scrubbed(str(tree), _withheld)
        case datetime():
            return tree.isoformat()
        case Mapping():
            return {scrubbed(key, _withheld): scrubbed_json(item) for key, item in tree.items()}
        case list() | tuple():
            return [scrubbed_json(item) for item in tree]
        case _:
            return scrubbed_json({each.name: getattr(tree, each.name) for each in fields(cast("Any", tree))})


def _without_control_characters(printed: object) -> object:
    match printed:
        case str():
            return printable(printed)
        case Text() if (plain := printable(printed.plain)) != printed.plain:
            printed.plain = plain
            return printed
        case _:
            return printed


def table_lines(head: Sequence[str], rows: Iterable[Iterable[str]], box: Box | None = None) -> list[str]:
    """A table in columns: on a terminal, cells are wrapped between words; in a pipe they stay whole."""
    texts = [[Text(printable(cell)) for cell in row] for row in (head, *rows)]
    # No word is broken, whatever the width.
    columns = (
        Column(cells[0], min_width=max(len(word) for cell in cells for word in (*cell.plain.split(), "")))
        for cells in zip(*texts, strict=True)
    )
    table = Table(*columns, box=box, show_edge=False, pad_edge=False)
    for row in texts[1:]:
        table.add_row(*row)
    width = max(_NARROWEST_TABLE, out.width) if out.is_terminal else _WHOLE_TABLE
    plain = Console(width=width, color_system=None)
    with plain.capture() as captured:
        plain.print(table, crop=False)
    return [line.rstrip() for line in captured.get().splitlines()]


def show_columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    heading, *lines = table_lines(head, rows)
    out.print(heading, style="bold blue")
    for line in lines:
        out.print(line)
