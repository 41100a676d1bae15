"""The ``toolreel`` command; also ``python -m toolreel``."""

from __future__ import annotations

import sys

from toolreel._internal import MissingExtra


def main() -> None:
    """Run the command line, or report the missing extra."""
    try:
        from toolreel._cli import toolreel

        toolreel()
    except ImportError as error:
        # Only packages of the extra `cli`: other import errors are bugs, and keep their traceback.
        if error.name not in {"click", "rich", "httpx"}:
            raise
        sys.exit(_report_missing_extra(MissingExtra.of("cli", error.name)))


def _report_missing_extra(error: MissingExtra) -> int:
    sys.stderr.write(f"error: {error}\n")
    return 2


if __name__ == "__main__":
    main()
