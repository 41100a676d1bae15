"""Whether processes that tests have started are gone."""

from __future__ import annotations

import time
from pathlib import Path

from tests.patience import HANG


def alive(pid: int) -> bool:
    """Whether there is such a process that is more than a remnant."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int) -> bool:
    """Whether a process is gone, in a moment at most."""
    end = time.monotonic() + HANG
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)
