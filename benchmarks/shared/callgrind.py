"""The machine's instructions that a piece of Python takes, counted by valgrind's callgrind.

They are the same for one build of Python, whatever else the machine does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.shared.environment import ROOT

__all__ = ["instructions"]


def instructions(script: str, few: int, many: int) -> int | None:
    """The instructions of one repetition; ``None`` if valgrind is not installed, which is printed.

    :param script: a Python program with ``{}`` where the number of repetitions belongs
    :param few: a number of repetitions, which a second process exceeds: what both do to start cancels out
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("valgrind is not installed (apt-get install valgrind), so no machine instructions are counted")
        return None
    _run(sys.executable, "-c", script.format(0))  # writes the bytecode, which would be counted as well
    less, more = (_under(valgrind, script.format(number)) for number in (few, many))
    return (more - less) // (many - few)


def _under(valgrind: str, script: str) -> int:
    """The machine's instructions of a whole process."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet"]
        _run(*command, sys.executable, "-c", script)
        (summary,) = [line for line in out.read_text().splitlines() if line.startswith("summary:")]
    return int(summary.split()[1])


def _run(*command: str) -> None:
    environment = {"PYTHONHASHSEED": "0", "PYTHONPATH": ":".join(path for path in sys.path if path)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
