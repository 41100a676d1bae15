"""Running the ``toolreel`` command as a process of its own: in a pipe, on a terminal, many at once."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Final, cast

from tests.patience import HANG
from toolreel.testing import calling, saying

COMMAND: Final = (sys.executable, "-m", "toolreel")
WORKSPACE: Final = ("--tools", "toolreel.demo:TOOLS")

LOOKING_UP: Final = calling(("state_get", {"path": "/release/status"}))
"""A reply that calls a tool of the workspace."""
READY: Final = saying("It is a draft.")

_FORKING: Final = """
import atexit, gc, io, json, os, sys, threading, traceback

import toolreel._cli.live_run, toolreel._cli.run, toolreel._cli.fork
import toolreel._cli.replay, toolreel._cli.tools, toolreel._cli.normalize
import toolreel._cli.progress, toolreel.testing._reels.reel
import toolreel.tools.mcp._host, toolreel._replay.taped_endpoint
import toolreel.proxy._serve, toolreel._cli.proxy
from toolreel.__main__ import main

gc.freeze()  # so that a child does not copy the pages of what is loaded
for line in sys.stdin:
    asked = json.loads(line)
    if {*asked["arguments"][:1]} & {"durable"}:  # slow to load
        import toolreel._cli.durable_worker, toolreel._cli.durable_runs, toolreel.durable._worker, psycopg
    child = os.fork()
    if not child:
        break
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
else:
    os._exit(0)
for number, (name, flags) in enumerate(zip(asked["streams"], (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY))):
    stream = os.open(name, flags)
    os.dup2(stream, number)
    os.close(stream)
os.chdir(asked["cwd"])
os.environ.clear()
os.environ.update(asked["environment"])
sys.path[0] = os.getcwd()
sys.argv = ["toolreel", *asked["arguments"]]
sys.stdin = open(0, encoding="utf-8", closefd=False)
sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), "utf-8")
sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", line_buffering=True)
code = 0
try:
    main()
except SystemExit as end:
    code = end.code or 0
except BaseException:
    traceback.print_exc()
    code = 1
for thread in threading.enumerate():
    if thread is not threading.main_thread() and not thread.daemon:
        thread.join()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # what is loaded need not be torn down in each child
"""
"""Forks a process for each command, which finds the modules loaded: that takes a tenth of starting one."""


class _Forking:
    """The process that forks the commands of this session."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def run(
        self, arguments: Iterable[str], cwd: Path, stdin: bytes, environment: Mapping[str, str]
    ) -> tuple[int, bytes, bytes]:
        with self._lock, TemporaryDirectory() as folder:
            streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
            for stream, content in zip(streams, (stdin, b"", b""), strict=True):
                stream.write_bytes(content)
            names = {"streams": [*map(str, streams)], "cwd": str(cwd)}
            tree = {**names, "arguments": [*arguments], "environment": {**environment}}
            code = self._answer(json.dumps(tree).encode())
            return code, streams[1].read_bytes(), streams[2].read_bytes()

    def _answer(self, line: bytes) -> int:
        if self._process is None:
            command = [sys.executable, "-c", _FORKING]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, env=environment(), start_new_session=True
            )
            atexit.register(self._end)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], HANG)[0]:
            self._end()
            raise TimeoutError(f"the command has not ended: {line!r}")
        return int(self._process.stdout.readline())

    def _end(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


_forking: Final = _Forking()


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
        code, stdout, stderr = _forking.run(arguments, cwd, stdin, environment(env))
        return Said(code, stdout.decode(), stderr.decode())
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
    """Many commands, one after the other."""
    return [toolreel(*command, cwd=cwd) for command in commands]


def assert_mistake(said: Said, *parts: str, code: int = 2) -> None:
    """The command ended with this code, and said what is wrong, in these words among others."""
    assert said.code == code, said
    for part in parts:
        assert part in said.stderr
    assert re.search(r"^[Ee]rror: ", said.stderr, re.MULTILINE)
    assert "Traceback" not in said.stderr
    if code == 2:
        assert said.stdout == ""


def on_terminal(
    *arguments: str,
    cwd: Path,
    columns: int = 80,
    typed: str = "",
    env: Mapping[str, str] | None = None,
    interrupted_at: str = "",
) -> tuple[int, str]:
    """One command on a terminal of its own: its exit code, and all that it wrote, escape codes included.

    :param typed: what somebody at the terminal has typed ahead
    :param interrupted_at: a text after which somebody presses Ctrl-C
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, env=environment(env), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        written, pressed = bytearray(), not interrupted_at
        with suppress(OSError):  # Linux says EIO when the last process has closed the terminal
            while chunk := os.read(ours, 4096):
                written += chunk
                if not pressed and interrupted_at.encode() in written:
                    process.send_signal(signal.SIGINT)
                    pressed = True
        os.close(ours)
        code = process.wait(HANG)
    return code, written.decode().replace("\r\n", "\n")
