"""What starting costs: the core, an agent, commands and a pytest run, beside a Python that does nothing.

CPU time of child processes, user and system, as the median of rounds in which all take turns, so
that a busy machine slows all alike. Each program runs once before, which writes its bytecode.
How many modules are loaded is held by ``tests/architecture/test_imports.py``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

ROUNDS = 11
JOURNAL = Path(__file__).parents[1] / "cassettes" / "workspace" / "local--qwen2.5-coder-1.5b.journal.jsonl"
COMMAND = ("-m", "toolreel")
PROGRAMS = {
    "python -c pass": ("-c", "pass"),
    "import toolreel": ("-c", "import toolreel"),
    "import toolreel_core": ("-c", "import toolreel_core"),
    "from toolreel_core import Plan, start, step": ("-c", "from toolreel_core import Plan, start, step"),
    "from toolreel import Agent": ("-c", "from toolreel import Agent"),
    "from pydantic_ai import Agent": ("-c", "from pydantic_ai import Agent"),
    "toolreel --help": (*COMMAND, "--help"),
    "toolreel replay --help": (*COMMAND, "replay", "--help"),
    "toolreel run --help": (*COMMAND, "run", "--help"),
    "toolreel replay, of a journal": (*COMMAND, "replay", str(JOURNAL)),
    "toolreel replay, of its cassette": (*COMMAND, "replay", str(JOURNAL).replace(".journal.jsonl", ".yaml")),
}
AT_MOST = {
    "import toolreel": 60,
    "from toolreel_core import Plan, start, step": 150,
    "from toolreel import Agent": 250,
    "toolreel --help": 150,
    "pytest, of one test": 1000,
}
"""Milliseconds of CPU: the budgets."""


def cost(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    """Milliseconds of CPU that a Python with these arguments takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)  # noqa: S603 - our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3


def main() -> None:
    """Measure, and print a table."""
    costs = defaultdict[str, list[float]](list)
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        test = Path(bytecode, "test_one.py")
        test.write_text("def test_one() -> None:\n    pass\n")
        pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", bytecode, str(test))
        programs = {**PROGRAMS, "pytest, of one test": pytest}
        for arguments in programs.values():
            cost(arguments, environment)
        for _ in range(ROUNDS):
            for name, arguments in programs.items():
                costs[name].append(cost(arguments, environment))
    idle = median(costs["python -c pass"])
    print(f"{'':40} {'ms of CPU':>9} {'beyond Python':>14} {'budget':>7}")
    for name, each in costs.items():
        spent = median(each)
        print(f"{name:40} {spent:>9.0f} {spent - idle:>14.0f} {AT_MOST.get(name, ''):>7}")


if __name__ == "__main__":
    main()
