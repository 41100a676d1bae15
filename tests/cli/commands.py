"""Running the ``toolreel`` command as a process of its own: in a pipe, on a terminal, many at once."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from tests.docs.forks import Forks
from tests.patience import HANG
from tests.servers.chat_server import ChatServer
from toolreel.testing import calling, saying

COMMAND = (sys.executable, "-m", "toolreel")
WORKSPACE = ("--tools", "toolreel.demo:TOOLS")

LOOKING_UP = calling(("state_get", {"path": "/release/status"}))
"""A reply that calls a tool of the workspace."""
READY = saying("It is a draft.")


@cache
def _forks() -> Forks:
    """The process that forks the commands of this session: that takes a tenth of starting one."""
    forks = Forks(Path(sys.executable), environment(), warm=True)
    atexit.register(forks.__exit__, None, None, None)
    return forks


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
    """One command, in a pipe; a process of its own, though a forked one unless its start is tested.

    :param program: runs instead of the command's own module, with the same arguments
    """
    if not program and not any(name.startswith("PYTHON") for name in env or ()):
        with TemporaryDirectory() as folder:
            streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
            for stream, content in zip(streams, (stdin, b"", b""), strict=True):
                stream.write_bytes(content)
            code = _forks().run(["toolreel", *arguments], None, cwd, environment(env), streams, HANG)
            return Said(code, streams[1].read_bytes().decode(), streams[2].read_bytes().decode())
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


def run_at(server: ChatServer, prompt: str = "hi") -> tuple[str, ...]:
    """The words that run a prompt against a server."""
    return ("run", prompt, "--model", "m", "--base-url", server.url)


def said_by_each(commands: Iterable[Iterable[str]], cwd: Path) -> list[Said]:
    """Many commands, one after the other."""
    return [toolreel(*command, cwd=cwd) for command in commands]


def assert_mistake(said: Said, *parts: str, code: int = 2) -> None:
    """The command ended with this code, and said what is wrong, in these words among others."""
    assert said.code == code, said
    told = f"{said.stderr}\n{' '.join(said.stderr.split())}"  # whatever its width
    for part in parts:
        assert part in told
    assert re.search(r"^[Ee]rror: ", said.stderr, re.MULTILINE)
    assert "Traceback" not in said.stderr
    if code == 2:
        assert said.stdout == ""


_AT_TERMINAL = """
import sys
from toolreel.__main__ import main

# What was imported in the process that is forked has found no terminal there.
for name in [name for name in sys.modules if name.startswith("toolreel._cli")]:
    del sys.modules[name]
sys.argv = ["toolreel", *{arguments}]
main()
"""


def on_terminal(
    *arguments: str, cwd: Path, columns: int = 80, typed: str = "", env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """One command on a terminal of its own: its exit code, and all that it wrote, escape codes included.

    :param typed: what somebody at the terminal has typed ahead
    """
    ours, theirs = _terminal(columns)
    os.write(ours, typed.encode())
    with ThreadPoolExecutor(1) as threads:
        written = threads.submit(_read_on, ours, lambda _: None)
        streams, program = [Path(os.ttyname(theirs))] * 3, _AT_TERMINAL.format(arguments=arguments)
        code = _forks().run([], program, cwd, environment(env), streams, HANG)
        os.close(theirs)
    return code, written.result()


def attended(
    arguments: Iterable[str], cwd: Path, react: Callable[[bytes, subprocess.Popen[bytes], int], object]
) -> tuple[int, str]:
    """The same with somebody at the terminal, who reacts to each piece of what is written.

    :param react: called with all that was written so far, the process, and where to type
    """
    ours, theirs = _terminal(80)
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        written = _read_on(ours, lambda written: react(written, process, ours))
        return process.wait(HANG), written


def _terminal(columns: int) -> tuple[int, int]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    return ours, theirs


def _read_on(terminal: int, react: Callable[[bytes], object]) -> str:
    """All that is written until the terminal is closed."""
    written = bytearray()
    with suppress(OSError):  # Linux says EIO when the last process has closed the terminal
        while chunk := os.read(terminal, 4096):
            written += chunk
            react(bytes(written))
    os.close(terminal)
    return written.decode().replace("\r\n", "\n")
