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
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from benchmarks.core_growth import after, calls, reply, turn

if TYPE_CHECKING:
    from _typeshed import TraceFunction

COUNTED: Final = Path(__file__).with_suffix(".json")
TURNS: Final = 20
TOLERANCE: Final = 1.02
_UNDER_VALGRIND: Final = (50, 150)
_SCRIPT: Final = "from benchmarks.core_calls import turns; turns({})"


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


def instructions() -> int | None:
    """The machine's instructions of a turn, if valgrind is there to count them."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("valgrind is not installed (apt-get install valgrind), so no machine instructions are counted")
        return None
    _run(sys.executable, "-c", _SCRIPT.format(0))  # writes the bytecode, which would be counted as well
    few, many = (_under(valgrind, number) for number in _UNDER_VALGRIND)
    return (many - few) // (_UNDER_VALGRIND[1] - _UNDER_VALGRIND[0])


def _under(valgrind: str, number: int) -> int:
    """The machine's instructions of a whole process that makes this many turns."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet"]
        script = [sys.executable, "-c", _SCRIPT.format(number)]
        _run(*command, *script)
        (summary,) = [line for line in out.read_text().splitlines() if line.startswith("summary:")]
    return int(summary.split()[1])


def _run(*command: str) -> None:
    environment = {"PYTHONHASHSEED": "0", "PYTHONPATH": ":".join(path for path in sys.path if path)}
    subprocess.run(command, cwd=COUNTED.parents[1], env=environment, check=True)  # noqa: S603


def counted(*, callgrind: bool) -> dict[str, int]:
    """All counts of a turn, by the Python that they hold for."""
    version = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"
    counts = {
        f"{version}: calls in {TURNS} turns": calls(*after(10), TURNS),
        f"{version}: bytecode instructions of a turn": bytecodes(),
    }
    machine = instructions() if callgrind else None
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
