"""The ``toolreel`` command; also ``python -m toolreel``."""

from __future__ import annotations

import os
import sys
from errno import EDQUOT, ENOSPC

from toolreel._internal import MissingExtra


def main() -> None:
    """Run the command line; report a missing extra, a full disk, and a path that cannot be looked at."""
    try:
        from toolreel._cli import toolreel

        toolreel()
    except ImportError as error:
        # Only packages of the extra `cli`: other import errors are bugs, and keep their traceback.
        if error.name not in {"click", "rich", "httpx"}:
            raise
        sys.exit(_report(MissingExtra.of("cli", error.name)))
    except OSError as error:
        if error.errno in {ENOSPC, EDQUOT}:
            # The disk is full. Python flushes stdout (1) again as it ends: let that not fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        elif error.filename is None:
            raise
        sys.exit(_report(error))


def _report(error: Exception) -> int:
    sys.stderr.write(f"error: {error}\n")
    return 2


if __name__ == "__main__":
    main()
