"""A lock on a file, held by one process until it closes the file or dies."""

from __future__ import annotations

import sys
from typing import IO

if sys.platform == "win32":
    import msvcrt

    _FAR_BEYOND = 2**40
    """Windows locks byte ranges, which others then cannot read; so we lock one that is never written."""

    def taken(file: IO[bytes]) -> bool:
        """Lock a file until it is closed; returns False if another process has the lock."""
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
        """Lock a file until it is closed; returns False if another process has the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
