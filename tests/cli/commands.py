"""Running the ``toolreel`` command as a process of its own: in a pipe, on a terminal, many at once."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from tests.patience import HANG
from toolreel.testing._scripted import calling, saying

__all__ = [
    "COMMAND",
    "LOOKING_UP",
    "READY",
    "WORKSPACE",
    "Said",
    "assert_mistake",
    "environment",
    "on_terminal",
    "said_by_each",
    "toolreel",
]

COMMAND: Final = (sys.executable, "-m", "toolreel")
WORKSPACE: Final = ("--tools", "toolreel.demo:TOOLS")

LOOKING_UP: Final = calling(("state_get", {"path": "/release/status"}))
"""A reply that calls a tool of the workspace."""
READY: Final = saying("It is a draft.")

_MANY: Final = """
import io, json, sys, traceback
from contextlib import redirect_stderr, redirect_stdout
from toolreel.__main__ import main

said = []
for arguments in json.load(sys.stdin):
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    sys.argv = ["toolreel", *arguments]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
            code = 1
    for stream in streams:
        stream.flush()
    said.append([code, *(stream.buffer.getvalue().decode() for stream in streams)])
print(json.dumps(said))
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said and how it ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def data(self) -> dict[str, Any]:
        """Stdout as one JSON object."""
        return cast("dict[str, Any]", json.loads(self.stdout))


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, without what would change colours or widths."""
    unwanted = {"CI", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONWARNINGS", "TTY_COMPATIBLE"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "TERM": "xterm-256color", "PYTHONWARNINGS": "error", **(changes or {})}


def toolreel(
    *arguments: str, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None, program: str = ""
) -> Said:
    """One command, in a pipe.

    :param program: runs instead of the command's own module, with the same arguments
    """
    command = [sys.executable, "-c", program] if program else [*COMMAND]
    done = subprocess.run(
        [*command, *arguments],
        cwd=cwd,
        input=stdin,
        env=environment(env),
        capture_output=True,
        timeout=HANG,
        check=False,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def said_by_each(commands: Iterable[Iterable[str]], cwd: Path) -> list[Said]:
    """Many commands one after the other in one process, which saves starting one for each."""
    asked = json.dumps([[*command] for command in commands]).encode()
    done = toolreel(cwd=cwd, stdin=asked, program=_MANY)
    assert done.code == 0, done.stderr
    return [Said(*each) for each in json.loads(done.stdout)]


def assert_mistake(said: Said, *parts: str, code: int = 2) -> None:
    """The command ended with this code, and said what is wrong, in these words among others."""
    assert said.code == code, said
    for part in parts:
        assert part in said.stderr
    assert re.search(r"^[Ee]rror: ", said.stderr, re.MULTILINE)
    assert "Traceback" not in said.stderr
    if code == 2:
        assert said.stdout == ""


def on_terminal(*arguments: str, cwd: Path, columns: int = 80, typed: str = "") -> tuple[int, str]:
    """One command on a terminal of its own: its exit code, and all that it wrote, escape codes included.

    :param typed: what somebody at the terminal has typed ahead
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        written = bytearray()
        with suppress(OSError):  # Linux says EIO when the last process has closed the terminal
            while chunk := os.read(ours, 4096):
                written += chunk
        os.close(ours)
        code = process.wait(HANG)
    return code, written.decode().replace("\r\n", "\n")
