"""What a step costs through ``python -m toolreel_core``, compared with the same step in Python.

A turn is two steps: a reply with one tool call, and the tool's result, whose effect is the next request with
its body. The same turns are taken by ``step``, by lines that a session in this process answers, and by lines
through the pipes of the process; a figure is the least of many interleaved turns, half of it for a step. What
comes on top is JSON in JSON, so it grows with the body of a request. On two cores of an AMD EPYC with a load
of 12 to 18 (2026-11-28), a step through the process takes 0.54 to 0.75 ms, in Python 0.19 to 0.22: 2.7 to 3.6
times as long, at 10 turns and at 100. By lines in this process it is 1.4 to 1.8 times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import IO

from benchmarks.core_growth import RESULT, after, reply
from toolreel_core import ReplyReceived, SendRequest, State, ToolReturned, step
from toolreel_core._host_session import HostSession
from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import to_json

LENGTHS = (10, 100)
TURNS = 200


def in_python(state: State, ref: int) -> State:
    """A turn by ``step``, up to the body of the next request."""
    called = step(state, ReplyReceived(ref, 200, reply(ref))).state
    done = step(called, ToolReturned(ref + 1, RESULT))
    if not (isinstance(done.effects[0], SendRequest) and done.effects[0].request.body):
        raise TypeError(f"the run has ended: {done.effects[0]!r}")
    return done.state


def by_lines(ref: int, answer: Callable[[str], str]) -> None:
    """The same turn by lines, as a host writes and reads them."""
    events: Sequence[Json] = (
        {"type": "http_response", "ref": ref, "status": 200, "body": reply(ref)},
        {"type": "tool_returned", "ref": ref + 1, "output": RESULT},
    )
    lines = [json.dumps({"toolreel": 1, "run": "a", "event": event}) for event in events]
    _, answered = [json.loads(answer(line)) for line in lines]
    if answered["effects"][0]["type"] != "send_request":
        raise TypeError(f"the run has ended: {answered}")


def main() -> None:
    """Measure, and print a table."""
    pipe = subprocess.PIPE
    print(f"{'turns before':>12} {'step, us':>9} {'by lines':>18} {'through the process':>20}")
    for length in LENGTHS:
        state, ref = after(length)
        begun = canonical({"toolreel": 1, "run": "a", "state": to_json(state)})
        session = HostSession()
        session.answer(begun)
        with subprocess.Popen([sys.executable, "-m", "toolreel_core"], stdin=pipe, stdout=pipe) as core:
            if core.stdin is None or core.stdout is None:
                raise TypeError("a process with pipes has both")
            through = partial(answered_by, core.stdin, core.stdout)
            through(begun)
            ways: list[float] = [float("inf")] * 3
            for at in range(ref, ref + 2 * TURNS, 2):
                times = [perf_counter()]
                state = in_python(state, at)
                times.append(perf_counter())
                by_lines(at, session.answer)
                times.append(perf_counter())
                by_lines(at, through)
                times.append(perf_counter())
                taken = [(end - start) / 2 * 1e6 for start, end in pairwise(times)]
                ways = [min(both) for both in zip(ways, taken, strict=True)]
            core.stdin.close()
        step_us, *others = ways
        shown = [f"{us:,.0f} ({us / step_us:.1f}x)" for us in others]
        print(f"{length:>12} {step_us:>9,.0f} {shown[0]:>18} {shown[1]:>20}")


def answered_by(lines: IO[bytes], answers: IO[bytes], line: str) -> str:
    """The answer of the process to a line."""
    lines.write(line.encode() + b"\n")
    lines.flush()
    return answers.readline().decode()


if __name__ == "__main__":
    main()
