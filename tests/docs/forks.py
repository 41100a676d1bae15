"""Run many short programs of one interpreter, each in a fork of a process that has imported what they import.

A ``toolreel`` command spends half a second importing; a page has ten of them, the tests of the command line
have hundreds. As a script, this file is that process: it needs the standard library alone, so it runs with
any interpreter.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self


class Forks:
    """The process, as a context manager.

    :param warm: whether it first runs a few commands, for commands alone; programs would inherit their state
    """

    def __init__(self, python: Path, env: Mapping[str, str] | None = None, *, warm: bool = False) -> None:
        self.python = python
        self._server = subprocess.Popen(
            [str(python), __file__, *(["warm"] if warm else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            text=True,
            start_new_session=True,
        )

    def run(
        self,
        argv: Sequence[str],
        code: str | None,
        folder: Path,
        env: Mapping[str, str],
        streams: Sequence[Path],
        timeout: float | None = None,
    ) -> int:
        """Run Python code, or the ``toolreel`` command with these arguments; its exit status.

        :param streams: the files of its stdin, stdout and stderr; what it prints is appended
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        job = {"argv": [*argv], "code": code, "folder": str(folder), "env": {**env}}
        self._server.stdin.write(json.dumps({**job, "streams": [*map(str, streams)]}) + "\n")
        self._server.stdin.flush()
        if not select.select([self._server.stdout], [], [], timeout)[0]:
            os.killpg(self._server.pid, signal.SIGKILL)
            raise TimeoutError(f"it has not ended: {job}")
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
    if "warm" in sys.argv:
        _warm_up()
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


def _warm_up() -> None:
    """Run a few commands here: what they cache (presets, patterns, validators) is half of others' time."""
    with suppress(ImportError):  # an installation without the command line
        from click.testing import CliRunner

        from toolreel._cli import toolreel

        nowhere = ["--model", "m", "--base-url", "http://127.0.0.1:9", "--set", "max_tries=1"]
        for command in (["demo"], ["presets"], ["run", "Hi.", *nowhere]):
            CliRunner().invoke(toolreel, command)
    gc.freeze()


def _perform(job: Mapping[str, Any], writer: int) -> NoReturn:
    """Be the program, with its exit handlers."""
    for number, name in enumerate(job["streams"]):
        stream = os.open(name, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(stream, number)
        os.close(stream)
    # The reader of the jobs has read ahead.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    # By lines, so that both are in one order, as on a terminal.
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
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
