"""Where the command line writes: results to stdout, progress and complaints to stderr.

Colour is for terminals, where long lines are wrapped between words; in a pipe everything is plain
text and lines stay whole. What a server or a model wrote is shown, never obeyed: control
characters are spelt out.
"""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

__all__ = ["complain", "err", "labelled", "out", "printable"]

out: Final = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err: Final = Console(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)

_MARGIN: Final = 12
_NARROWEST: Final = 20
_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}


def complain(text: str, *, hint: str = "") -> None:
    """Tell the user what is wrong, and what to do."""
    whole = Text("error: ", style="bold red") + Text(printable(text), style="not bold default")
    err.print(whole, soft_wrap=not err.is_terminal)
    if hint:
        err.print(Text(f"  {printable(hint)}", style="yellow"), soft_wrap=not err.is_terminal)


def labelled(console: Console, label: str, text: str, style: str = "", *, mark: str = "") -> None:
    """Print a label in the margin and a text beside it, of which every further line is indented.

    :param mark: stands before the text, whose further lines are indented by its width as well
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
    r"""The text without the power to move the cursor or to change the colour of a terminal.

    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return text.replace("\r\n", "\n").translate(_CONTROLS)
