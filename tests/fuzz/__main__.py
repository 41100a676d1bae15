"""Fuzzing from the command line: ``python -m tests.fuzz [TARGET…] [--seconds N] [--replay FILE…]``.

What it finds is made small and kept under ``tests/fuzz/found/``; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.fuzz.found import complaint, keep, minimised
from tests.fuzz.sessions import ROOT, Session, guided, has_atheris, unguided
from tests.fuzz.targets import TARGETS


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the normalisers.")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all if none is named")
    parser.add_argument("--seconds", type=float, default=60, help="for each target (60)")
    parser.add_argument("--replay", nargs="+", type=Path, metavar="FILE", help="check kept inputs, no others")
    parser.add_argument("--without-atheris", action="store_true", help="draw inputs with Hypothesis alone")
    arguments = parser.parse_args(given)
    if unknown := [name for name in arguments.targets if name not in TARGETS]:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    if arguments.replay:
        return replay(arguments.replay, parser)
    is_guided = has_atheris() and not arguments.without_atheris
    if not is_guided:
        print("Without atheris, which is for Linux and Python before 3.14: Hypothesis draws the inputs.")
    sessions = []
    for name in arguments.targets or TARGETS:
        fuzz = guided if is_guided and not TARGETS[name].measures else unguided
        sessions.append(fuzz(name, arguments.seconds, partial(print, f"{name}:", flush=True)))
        print(told(sessions[-1]), flush=True)
    return 1 if any(session.found is not None or session.log for session in sessions) else 0


def replay(paths: list[Path], parser: argparse.ArgumentParser) -> int:
    """Check inputs whose folder names the target; the first that fails shows its traceback."""
    for path in paths:
        name = path.resolve().parent.name
        if name not in TARGETS:
            parser.error(f"{path}: the folder of an input names its target, one of {', '.join(TARGETS)}")
        print(f"{name}: {path}", flush=True)
        TARGETS[name].check(path.read_bytes())
    print(f"{len(paths)} inputs, all of them hold")
    return 0


def told(session: Session) -> str:
    """A session in words, and what to do about what it found."""
    line = f"{session.target}: {session.executions:,} executions"
    if session.coverage:
        line += f", {session.new:,} of them reached something new, {session.coverage:,} edges of the core"
    if session.found is None:
        return f"{line}, nothing found" if not session.log else f"{line}, ended early:\n{session.log}"
    check = TARGETS[session.target].check
    small = minimised(check, session.found)
    path = keep(session.target, small).relative_to(ROOT)
    why = complaint(check, small) or "it took too long or too much memory under instrumentation"
    return (
        f"{line}, FOUND {plain_words(small)}\n  {why}\n"
        f"  reproduce: python -m tests.fuzz --replay {path}\n"
        "  Mend the rule behind it, and keep the file: make test replays it from now on."
    )


def plain_words(data: bytes) -> str:
    """An input as one line."""
    return repr(data if len(data) < 200 else data[:200] + b"...")


if __name__ == "__main__":
    sys.exit(main())
