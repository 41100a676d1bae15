"""A file that one process holds: the system lets go of it when the process ends, however it ends."""

from __future__ import annotations

import sys
from typing import IO

__all__ = ["taken"]

if sys.platform == "win32":
    import msvcrt

    _FAR_BEYOND = 2**40
    """Windows locks bytes, which nobody else can then read; these are never written."""

    def taken(file: IO[bytes]) -> bool:
        """Take a file for this process until it is closed, unless another one holds it."""
        at = file.tell()
        file.seek(_FAR_BEYOND)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            file.seek(at)
        return True
else:
    import fcntl

    def taken(file: IO[bytes]) -> bool:
        """Take a file for this process until it is closed, unless another one holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
