"""Printing: results go to stdout, progress and errors to stderr.

On a terminal, text is coloured and wrapped between words; in a pipe it is plain and lines stay whole.
Control characters in the text of servers and models are escaped, so that they cannot drive the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from toolreel._cli.output.errors import go_unread


class _Output(Console):
    """A console for pipes whose reader may leave."""

    def on_broken_pipe(self) -> None:
        """Go on without output, so that the exit code is still that of the command."""
        self.quiet = True
        go_unread(self.file)


out: Final = _Output(highlight=False, soft_wrap=True, markup=False, emoji=False)
err: Final = _Output(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)

_MARGIN: Final = 12
_NARROWEST: Final = 20
_GAP: Final = "  "
# C0 and C1 control characters and DEL. C1 matters: in an 8-bit terminal 0x9B alone begins an escape sequence.
_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}


def complain(text: str, *, hint: str = "") -> None:
    """Print an error to stderr, and a hint what to do."""
    whole = Text("error: ", style="bold red") + Text(printable(text), style="not bold default")
    err.print(whole, soft_wrap=not err.is_terminal)
    if hint:
        err.print(Text(f"  {printable(hint)}", style="yellow"), soft_wrap=not err.is_terminal)


def labelled(console: Console, label: str, text: str, style: str = "", *, mark: str = "") -> None:
    """Print a label in the margin, and text next to it with all lines indented.

    :param mark: prefix of the first line; later lines are indented by its width too
    """
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


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "turn"), counted(2, "turn")
    ('1 turn', '2 turns')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    r"""The text with control characters escaped, so that it cannot move the cursor or change colours.

    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return text.replace("\r\n", "\n").translate(_CONTROLS)


def show_columns(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below a header; each row has as many cells as the header."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    for row in (head, *rows):
        cells = [printable(cell).ljust(width) for cell, width in zip(row, widths, strict=False)]
        first = "".join(f"{cell}{_GAP}" for cell in cells)
        lines = _wrapped(console, printable(row[-1]), console.width - len(first))
        indent = "\n" + " " * len(first)
        console.print((first + indent.join(lines)).rstrip(), style="bold blue" if row is head else "")


def _wrapped(console: Console, text: str, width: int) -> list[str]:
    if not console.is_terminal or width < _NARROWEST:
        return [text]
    return textwrap.wrap(text, width) or [""]
