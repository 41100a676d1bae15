"""An evaluation made by several processes with a database between them is the one that one process makes."""

from __future__ import annotations

import re
import subprocess
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread

from tests.cli.commands import COMMAND, environment, toolreel
from tests.evals.trying import plan_of, records
from tests.patience import HANG
from toolreel.evals._runner.connection import new_header
from toolreel.evals._runner.durable_pool import DurablePool
from toolreel.evals._runner.evaluation import evaluate
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel.evals._summary.summary_files import write_summaries

SUMMARIES = ("summary.json", "summary_by_scenario.json", "summary_by_scenario_and_strategy.json")


def summed(folder: Path) -> dict[str, bytes]:
    """The summaries, as if no run had taken any time: that is measured, and differs each time."""
    journal = folder / "journal.jsonl"
    journal.write_text(re.sub(r'"ms":\d+', '"ms":0', journal.read_text()))
    results = Results.open(folder)
    write_summaries(results, plan_of_header(results.header))
    return {name: (folder / name).read_bytes() for name in SUMMARIES}


def test_several_processes_make_the_summaries_of_one_byte_for_byte(tmp_path: Path) -> None:
    plan, url = plan_of(eval={"trials": 12}), f"sqlite:///{tmp_path / 'evals.db'}"
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    one, many = tmp_path / "one" / "results", tmp_path / "many" / "results"
    begun = new_header(plan, datetime(2026, 11, 23, tzinfo=UTC))
    evaluate(plan, one, header=begun)
    helper: list[subprocess.Popen[bytes]] = []

    def help_out() -> None:
        while not (many / "header.json").exists():
            time.sleep(0.05)
        command = [*COMMAND, "eval", "work", str(many), "--database", url]
        helper.append(subprocess.Popen(command, env=environment(None), stderr=subprocess.DEVNULL))

    helping = Thread(target=help_out)
    helping.start()
    try:
        outcome = evaluate(plan, many, header=begun, pool=partial(DurablePool, many, url))
        assert outcome.complete
        again = evaluate(plan, many, header=begun, pool=partial(DurablePool, many, url))
        assert (again.complete, again.made) == (True, 0)
    finally:
        helping.join()
        helper[0].terminate()
        helper[0].wait(HANG)
    assert records(many).keys() == records(one).keys()
    assert summed(many) == summed(one)


def test_a_process_without_the_evaluation_says_so(tmp_path: Path) -> None:
    said = toolreel("eval", "work", "nowhere", cwd=tmp_path)
    assert (said.code, "there is no evaluation" in said.stderr) == (2, True)
