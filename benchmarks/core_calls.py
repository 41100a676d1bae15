"""How much a turn makes the interpreter do: counts, in which a machine's noise does not show.

    python -m benchmarks.core_calls [--callgrind] [--write]

Python and C calls, by ``sys.setprofile``, and bytecode instructions, by ``sys.settrace``, are the same on any
machine with the same Python; the machine's own instructions are counted by valgrind's callgrind, and are the
same for one build of Python. What was counted last is in ``core_calls.json``; more than a fiftieth above
it is a regression, and ends with status 1. ``--write`` keeps the present counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from benchmarks.core_growth import after, calls, reply, turn
from benchmarks.shared.callgrind import instructions

if TYPE_CHECKING:
    from _typeshed import TraceFunction

COUNTED = Path(__file__).with_suffix(".json")
TURNS = 20
TOLERANCE = 1.02
_UNDER_VALGRIND = (50, 150)
_SCRIPT = "from benchmarks.core_calls import turns; turns({})"


def turns(number: int) -> None:
    """This number of turns that continue from one state."""
    state, ref = after(10)
    body = reply(ref)
    for _ in range(number):
        turn(state, ref, body)


def bytecodes() -> int:
    """Bytecode instructions of a turn, in the core and in what it calls."""
    state, ref = after(10)
    body, count = reply(ref), 0
    turn(state, ref, body)

    def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        turn(state, ref, body)
    finally:
        sys.settrace(tracer)
    return count


def counted(*, callgrind: bool) -> dict[str, int]:
    """All counts of a turn, by the Python that they hold for."""
    version = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"
    counts = {
        f"{version}: calls in {TURNS} turns": calls(*after(10), TURNS),
        f"{version}: bytecode instructions of a turn": bytecodes(),
    }
    machine = instructions(_SCRIPT, *_UNDER_VALGRIND) if callgrind else None
    if machine is not None:
        build = f"{sys.version} on {platform.machine()}".replace("\n", "")
        counts[f"{build}: machine instructions of a turn"] = machine
    return counts


def main() -> int:
    """Count, and compare with what was counted last."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--callgrind", action="store_true", help="count machine instructions as well")
    parser.add_argument("--write", action="store_true", help="keep the counts")
    arguments = parser.parse_args()
    before: dict[str, int] = json.loads(COUNTED.read_text())
    now = counted(callgrind=arguments.callgrind)
    for name, count in now.items():
        known = before.get(name)
        change = "not counted before" if known is None else f"{count / known - 1:+.1%}"
        print(f"{count:>12,}  {change:<18}  {name}")
    if arguments.write:
        COUNTED.write_text(json.dumps(before | now, indent=2, sort_keys=True) + "\n")
        return 0
    more = [name for name, count in now.items() if count > TOLERANCE * before.get(name, count)]
    for name in more:
        print(f"too many: {name}: {before[name]:,} before; mend it, or keep the new count with --write")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
