"""Run many short programs of one interpreter, each in a fork of a process that has imported what they import.

A ``toolreel`` command spends half a second importing; a page has ten of them. As a script, this file is that
process: it needs the standard library alone, so it runs with any interpreter.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self


class Forks:
    """The process, as a context manager."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self._server = subprocess.Popen(
            [str(python), __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, argv: Sequence[str], code: str | None, folder: Path, env: Mapping[str, str], output: Path
    ) -> int:
        """Run Python code, or the ``toolreel`` command with these arguments; its exit status.

        :param output: what it prints is appended to this file
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        job = {"argv": [*argv], "code": code, "folder": str(folder), "env": {**env}, "output": str(output)}
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()
        if self._server.stdout:
            self._server.stdout.close()


def _serve() -> None:
    """Fork for every job; what a job has imported is there for those behind it."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        job = json.loads(line)
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            answers.close()
            _perform(job, writer)
        os.close(writer)
        with open(reader) as imported:
            names = imported.read().split()
        _, status = os.waitpid(process, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()
        for name in names:
            with suppress(Exception):  # a module may import another one only under some condition
                importlib.import_module(name)
        gc.freeze()  # a collection in a child would copy the pages of all that is loaded


def _perform(job: Mapping[str, Any], writer: int) -> NoReturn:
    """Be the program, with its exit handlers."""
    null, output = os.open(os.devnull, os.O_RDONLY), os.open(str(job["output"]), os.O_WRONLY | os.O_APPEND)
    for old, new in ((null, 0), (output, 1), (output, 2)):
        os.dup2(old, new)
    # The reader of the jobs has read ahead; a program that reads finds an empty input.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - in one order with stderr, as on a terminal
    os.chdir(str(job["folder"]))
    os.environ.clear()
    os.environ.update(job["env"])
    before = set(sys.modules)
    status: object = 0
    try:
        if job["code"] is None:
            sys.path[0] = os.path.dirname(sys.executable)  # as for a script in bin/
            sys.argv = list(job["argv"])
            from toolreel.__main__ import main

            main()
        else:
            sys.path[0], sys.argv = "", ["-c"]
            module = type(sys)("__main__")  # functions of a snippet find its names, also in threads
            sys.modules["__main__"] = module
            exec(compile(str(job["code"]), "<string>", "exec"), module.__dict__)  # noqa: S102
    except SystemExit as end:
        status = end.code or 0
    except BaseException as error:  # noqa: BLE001 - whatever it raises is printed, as an interpreter does
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    finally:
        installed = [
            name
            for name in set(sys.modules) - before
            # Modules in C come with those in Python that use them. `_asyncio` before `asyncio` is imported by
            # half, and asyncio then has two ideas of what the current task is.
            if not name.startswith("_")
            and not (getattr(sys.modules[name], "__file__", None) or "").startswith(str(job["folder"]))
        ]
        with open(writer, "w") as imported:
            imported.write(" ".join(sorted(installed)))
    _end(status)


def _end(status: object) -> NoReturn:
    """End as an interpreter does, but for taking apart what is loaded.

    That would copy all of it first: five times the CPU of all else that the pages do.
    """
    if not isinstance(status, int):
        sys.stderr.write(f"{status}\n")
        status = 1
    vars(threading)["_shutdown"]()  # waits for threads, as those of executors
    vars(atexit)["_run_exitfuncs"]()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve()
