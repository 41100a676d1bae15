"""What an evaluation costs on top of the loop that it measures, and how its memory grows with its runs.

Two scripted models run the reference's eight scenarios under three strategies, 6,960 times in all as the
preset ``full`` does, and a tenth of that. The same samples are then driven by ``run`` alone, with the
same scripts; what is left is the harness: planning, scheduling, judging, and the journal. Each part has a
process of its own, so that its peak of memory is its own. Waiting for the disk is no CPU.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import perf_counter, process_time

from toolreel import Ports, run
from toolreel.evals import (
    ExistingRuns,
    Results,
    ScenarioEndpoint,
    WorldHost,
    connect,
    evaluate,
    job_factory,
    load_eval_plan,
    new_header,
    plan_of_header,
    write_summaries,
)
from toolreel.ports import InstantClock
from toolreel_core.evals import EvalPlan, Record, Sample, script_kind_of_model

TRIALS = (15, 145)
"""Of 48 cells: 720 and 6,960 runs."""


def plan_of(trials: int) -> EvalPlan:
    """The plan of this many trials."""
    return load_eval_plan(
        None,
        {
            "eval": {
                "add_models": ["scripted:good", "scripted:bad"],
                "strategies": ["raw", "baseline", "production"],
                "scenarios": ["all"],
                "trials": trials,
            }
        },
        environ={},
        flags={},
    )


class Turns:
    """Counts the turns of all runs."""

    def __init__(self) -> None:
        self.count = 0

    def runs_found(self, found: ExistingRuns, /) -> None:
        """Nothing is there before."""

    def began(self, sample: Sample, /) -> None:
        """Nothing to count yet."""

    def run_ended(self, record: Record, /) -> None:
        """Add a run's."""
        self.count += record.turns


def bare(trials: int, _out: Path) -> int:
    """The samples by the loop alone: plans and worlds are made before the clock is started."""
    plan, turns, spent = plan_of(trials), 0, 0.0
    job_for = job_factory(plan)
    for sample in plan.samples():
        job = job_for(sample)
        case = job.case
        asked = job.plan(case)
        kind = script_kind_of_model(sample.cell.model) or "good"
        ports = Ports(
            ScenarioEndpoint(kind, job.scenario.scripts(sample.seed)),
            WorldHost(case.world),
            clock=InstantClock(),
        )
        since = process_time()
        ended = run(asked, ports)
        spent += process_time() - since
        turns += ended.state.tally.turns
    report(cpu=spent)
    return turns


def whole(trials: int, out: Path) -> int:
    """The same as an evaluation."""
    plan, turns = plan_of(trials), Turns()
    with closing(connect(plan, {})) as connection:
        evaluate(plan, out, connection, new_header(plan, datetime.now(UTC)), turns, Event())
    return turns.count


def resumed(trials: int, out: Path) -> int:
    """The same again, when nothing is left to be run."""
    return whole(trials, out)


def summed(_trials: int, out: Path) -> int:
    """Its summary, with all figures and files."""
    results = Results.open(out)
    return len(write_summaries(results, plan_of_header(results.header)))


PARTS: Mapping[str, Callable[[int, Path], int]] = {
    "bare": bare,
    "whole": whole,
    "resumed": resumed,
    "summed": summed,
}


def report(**figures: float) -> None:
    """One line of figures, for the process that has asked for them."""
    print(json.dumps(figures), flush=True)


def measure(part: str, trials: int, out: str) -> None:
    """One part, in this process."""
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = process_time(), perf_counter()
    turns = PARTS[part](trials, Path(out))
    report(
        total=process_time() - cpu,
        wall=perf_counter() - wall,
        turns=turns,
        grown=(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle) / 1024,
    )


def asked(part: str, trials: int, out: Path) -> dict[str, float]:
    """One part, in a process of its own."""
    command = [sys.executable, __file__, part, str(trials), str(out)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    lines = done.stdout.splitlines()
    return {name: value for connection in lines for name, value in json.loads(connection).items()}


def main() -> None:
    """Measure, and print a table."""
    print(f"{'runs':>6} {'':8} {'CPU, s':>8} {'wall, s':>8} {'us of CPU a turn':>17} {'memory, MB':>11}")
    for trials in TRIALS:
        with tempfile.TemporaryDirectory() as name:
            out = Path(name)
            for part in PARTS:
                found = asked(part, trials, out)
                cpu = found.get("cpu", found["total"])
                each = f"{cpu / found['turns'] * 1e6:>17,.0f}" if part in {"bare", "whole"} else " " * 17
                figures = f"{cpu:>8.2f} {found['wall']:>8.2f} {each} {found['grown']:>11.1f}"
                print(f"{48 * trials:>6,} {part:8} {figures}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        main()
