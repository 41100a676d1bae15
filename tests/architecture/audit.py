"""An audit hook that sees what a piece of code does to the world outside of it.

Python reports opening a file, connecting, starting a process and the like to audit hooks,
whichever way the code came there. A hook stays for as long as the process lives, so there
is one for all, and it writes down events only for a thread that has asked for it.

Importing opens files, too: run the code under test once before it is watched.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import get_ident

# Python reports a new thread from 3.12 on.
_NAMES = frozenset({"_thread.start_new_thread", "open", "time.sleep"})
_FAMILIES = (
    "ctypes.",
    "ftplib.",
    "glob.",
    "http.",
    "mmap.",
    "os.",
    "pathlib.",
    "shutil.",
    "signal.",
    "socket.",
    "sqlite3.",
    "subprocess.",
    "tempfile.",
    "urllib.",
)

_watched: dict[int, list[str]] = {}


def _note(event: str, arguments: tuple[object, ...]) -> None:
    seen = _watched.get(get_ident())
    if seen is not None and (event in _NAMES or event.startswith(_FAMILIES)):
        seen.append(f"{event}{arguments!r}")


sys.addaudithook(_note)


@contextmanager
def watch_io() -> Generator[list[str], None, None]:
    """The I/O that this thread performs, in order, as it is performed."""
    seen = _watched[get_ident()] = []
    try:
        yield seen
    finally:
        del _watched[get_ident()]


@contextmanager
def no_io() -> Generator[None, None, None]:
    """Fail when this thread performs any I/O.

    :raises AssertionError: at the end, naming all that was performed
    """
    with watch_io() as seen:
        yield
    if seen:
        raise AssertionError("I/O in pure code: " + "; ".join(seen))
