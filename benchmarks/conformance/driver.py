"""A peer's driver as a process: cases go in, what came of them comes out."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from subprocess import Popen

from benchmarks.conformance.judge import Raised
from benchmarks.conformance.peer import Peer
from benchmarks.conformance.shape import Call, Shape

__all__ = ["Came", "Driver"]

START = 120.0
"""Seconds that a process may take to import its packages, before its first case."""


@dataclass(frozen=True, slots=True)
class Came:
    """What a driver said of one case."""

    ran: tuple[Call, ...]
    text: str = ""
    raised: Raised | None = None


class Driver:
    """The process, started again when it has died or hangs."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._process: Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def run(self, shape: Shape, base_url: str, patience: float) -> Came:
        """Give it one case, and wait that many seconds for the end of it."""
        process = self._running()
        case = {"shape": shape.id, "base_url": base_url, "stream": shape.mode == "stream"}
        with suppress(BrokenPipeError):
            print(json.dumps(case), file=process.stdin, flush=True)
        ran: list[Call] = []
        for kind, told in self._said(patience):
            if kind == "ran":
                ran.append(_call(told))
            elif kind == "done":
                return _done(tuple(ran), told)
        kind = "timeout" if process.poll() is None else "died"
        self.stop()
        return Came(tuple(ran), raised=Raised(kind, f"no end within {patience:.0f} s"))

    def stop(self) -> None:
        """End the process."""
        if self._process:
            if self._process.stdin:
                with suppress(BrokenPipeError):
                    self._process.stdin.close()
            self._process.kill()
            self._process.wait()
        self._process = None

    def _running(self) -> Popen[str]:
        """The process, which is ready for a case unless it takes too long to begin."""
        if self._process and self._process.poll() is None:
            return self._process
        self._process = process = self.peer.start()
        lines: queue.Queue[str] = queue.Queue()
        self._lines = lines

        def read() -> None:
            if process.stdout:
                with process.stdout as said:
                    for line in said:
                        lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()
        next(self._said(START), None)
        return process

    def _said(self, patience: float) -> Iterator[tuple[str, Mapping[str, object]]]:
        until = time.monotonic() + patience
        while (left := until - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                return
            if not line:
                return
            with suppress(ValueError):
                said = json.loads(line)
                for kind in ("ready", "ran", "done"):
                    if isinstance(said, dict) and isinstance(told := said.get(kind), dict):
                        yield kind, told


def _call(told: Mapping[str, object]) -> Call:
    arguments = told.get("arguments")
    return Call(str(told.get("tool")), arguments if isinstance(arguments, dict) else {})


def _done(ran: tuple[Call, ...], told: Mapping[str, object]) -> Came:
    error = told.get("error")
    if isinstance(error, dict):
        return Came(ran, raised=Raised(str(error.get("kind")), str(error.get("message"))))
    return Came(ran, str(told.get("text", "")))
