"""An evaluation from Python, with the public names alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from toolreel.evals import Results, check_gates, evaluate, gates_of, plan_of_header, planned, write_summaries

PLAN = """
[eval]
add_models = ["scripted:good", "scripted:bad"]
scenarios = ["happy_path"]
[[gate]]
metric = "rate"
model = "scripted:good"
at_least = 0.99
[[gate]]
metric = "rate"
model = "scripted:bad"
at_least = 0.99
"""


def test_an_evaluation_needs_a_plan_and_a_directory_and_goes_on_where_it_was(tmp_path: Path) -> None:
    path, out = tmp_path / "plan.toml", tmp_path / "results"
    path.write_text(PLAN, encoding="utf-8")
    plan = planned(path, environ={})
    assert (evaluate(plan, out).made, evaluate(plan, out).made) == (2, 0)
    results = Results.open(out)
    assert plan_of_header(results.header).digest == plan.digest
    checked = check_gates(gates_of(plan), write_summaries(results, plan), plan)
    assert [gate.standing for gate in checked] == ["passed", "failed"]


def test_only_the_page_needs_jinja2() -> None:
    blocked = "import sys; sys.modules['jinja2'] = None"
    program = f"{blocked}; from toolreel.evals import Promoted, evaluate, report_page"
    subprocess.run([sys.executable, "-c", program], check=True)
