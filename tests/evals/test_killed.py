"""``kill -9`` at any moment: whatever had ended is kept, and the same command makes the rest."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.evals.evaluations import evaluated, plan_of, records
from tests.evals.provider import provider
from toolreel.evals import all_records, recording_of
from toolreel_core._jsontext import Json
from toolreel_core.evals import EvalPlan

MODELS = ("a/model", "b/model", "c/model", "d/model")
SCENARIOS = ("happy_path", "type_error_recovery", "no_tool_fits", "one_of_fifty", "date_and_size")

# One process has everything imported, and each child of it makes one evaluation.
PARENT = """
import json, os, sys
from pathlib import Path
from tests.evals.evaluations import evaluated
from tests.evals.test_killed import plan_of_many

for line in sys.stdin:
    url, models, trials, out = json.loads(line)
    child = os.fork()
    if not child:
        evaluated(plan_of_many(url, models, trials), Path(out))
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def plan_of_many(url: str, models: int, trials: int) -> EvalPlan:
    chosen: dict[str, Json] = {
        "add_models": [*MODELS[:models]],
        "scenarios": [*SCENARIOS],
        "trials": trials,
        "jobs": 4,
    }
    return plan_of(url, eval=chosen)


def finished(out: Path) -> set[tuple[str, str, int]]:
    """The runs that have a record on the disk."""
    return {(one.cell.model, one.cell.scenario, one.trial) for one in all_records(out)}


def unplaced(found: dict[str, Any]) -> dict[str, Any]:
    """Records without where they were made, and without their recordings."""
    return {
        key: {
            **tree,
            "cassette": "",
            "attempts": [{**attempt, "base_url": ""} for attempt in tree["attempts"]],
        }
        for key, tree in found.items()
    }


@pytest.mark.parametrize(
    ("models", "trials", "kills"), [(2, 4, 3), pytest.param(4, 25, 30, marks=pytest.mark.slow)]
)
def test_killed_again_and_again_it_ends_with_the_records_of_an_undisturbed_run(
    models: int, trials: int, kills: int, tmp_path: Path
) -> None:
    out, chance = tmp_path, random.Random(kills)
    count = models * len(SCENARIOS) * trials
    with provider() as calm:
        evaluated(plan_of_many(calm.url, models, trials), out / "calm")
        requests = calm.came
    started = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    before = dict[tuple[str, str, int], int]()
    with provider() as far, started as parent:
        assert parent.stdin
        assert parent.stdout
        plan = json.dumps([far.url, models, trials, str(out / "killed")])
        for kill in range(kills):
            parent.stdin.write(f"{plan}\n")
            parent.stdin.flush()
            child = int(parent.stdout.readline())
            left = max(requests - far.came, 0) * 2 // (kills - kill + 2)
            far.wait_for(far.came + chance.randint(0, left), parent)
            time.sleep(chance.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            assert int(parent.stdout.readline()) == signal.SIGKILL, "it was still at it"
            for run in finished(out / "killed"):
                before.setdefault(run, far.ended[run])
            assert {run: far.ended[run] for run in before} == before, "none that had ended was made again"
        parent.stdin.write(f"{plan}\n")
        parent.stdin.flush()
        child = int(parent.stdout.readline())
        assert int(parent.stdout.readline()) == 0
        assert {run: far.ended[run] for run in before} == before
        parent.stdin.close()
        assert len(finished(out / "killed")) == count
    undisturbed = unplaced(records(out / "calm"))
    resumed = records(out / "killed")
    names = [tree["cassette"] for tree in resumed.values()]
    assert all(recording_of(out / "killed", name).exchanges for name in names), "every recording is readable"
    assert unplaced(resumed) == undisturbed
    assert len(resumed) == count
