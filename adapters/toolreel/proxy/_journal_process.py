"""A process that makes journals, so that no request waits for Python while one is made.

A journal takes tens of milliseconds of nothing but Python, in which a thread would hold up every request that
is under way. Each line that the process reads is a job as JSON, each that it writes is how it went: why there
is no journal, an empty text if there is one, or ``null`` if it does not know a setting of the job.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from toolreel.proxy._journals import JournalJob

_NICE: Final = 10
"""How far it stands back while requests are served."""


class JournalProcess:
    """The process, which starts with its first job and ends with the context.

    :param stands_back: whether requests are being served, which come first
    """

    def __init__(self, *, stands_back: bool = False) -> None:
        self._nice: Final = _NICE if stands_back else 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._end()

    def perform(self, job: JournalJob) -> str | None:
        """Why there is no journal, empty if there is one; ``None`` if the process can't tell.

        That is so if it cannot be started, has ended, or lacks what only this process has registered.
        """
        try:
            process = self._process = self._process or _started(self._nice)
            line = _answer(process, f"{json.dumps(job.tree)}\n")
        except (OSError, ValueError):
            line = ""
        if not line.endswith("\n"):  # it has ended; the next job gets another
            self._end()
            return None
        said = json.loads(line)
        return said if isinstance(said, str) else None

    def kill(self) -> None:
        """End it at once; a journal that is being made is left out."""
        if self._process is not None:
            self._process.kill()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError), process:  # closes its input, which ends it, and waits
                pass


def _answer(process: subprocess.Popen[str], line: str) -> str:
    if process.stdin is None or process.stdout is None:
        return ""
    process.stdin.write(line)
    process.stdin.flush()
    return process.stdout.readline()


def _started(nice: int) -> subprocess.Popen[str]:
    if getattr(sys, "frozen", False):  # the program would start itself instead of Python
        raise OSError("there is no Python to start")
    # The modules of this process, wherever it found them, but none of the folder that it happens to be in.
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-P", "-m", __name__, str(nice)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        encoding="utf-8",
    )


def main() -> None:
    """Do one job a line, until there are no more."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to the whole group; the one that serves decides
    if hasattr(os, "nice"):
        os.nice(int(sys.argv[1]))
    for line in sys.stdin:
        job = JournalJob.of_tree(json.loads(line))
        sys.stdout.write(f"{json.dumps(job.perform() if job.is_known else None)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
