"""Printing: results go to stdout, progress and errors to stderr.

On a terminal, text is coloured and wrapped between words; in a pipe it is plain and lines stay whole.
Control characters in the text of servers and models are escaped, so that they cannot drive the terminal.
"""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

out: Final = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err: Final = Console(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)

_MARGIN: Final = 12
_NARROWEST: Final = 20
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


def printable(text: str) -> str:
    r"""The text with control characters escaped, so that it cannot move the cursor or change colours.

    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return text.replace("\r\n", "\n").translate(_CONTROLS)
