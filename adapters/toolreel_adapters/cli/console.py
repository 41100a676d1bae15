"""Where the command line writes: results to stdout, progress and complaints to stderr.

Colour is for terminals; in a pipe everything is plain text and lines are not wrapped.
"""

from __future__ import annotations

from typing import Final

from rich.console import Console

__all__ = ["complain", "err", "out"]

out: Final = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err: Final = Console(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)


def complain(text: str, *, hint: str = "") -> None:
    """Tell the user what is wrong, and what to do."""
    err.print("error:", style="bold red", end=" ")
    err.print(text)
    if hint:
        err.print(f"  {hint}", style="yellow")
