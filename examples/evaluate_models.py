"""Measure how reliably models call tools, here with scripted ones, so that it needs neither network nor key.

With a real model, name it and its server: `toolreel eval run --model M --base-url U --out results`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLREEL = [sys.executable, "-m", "toolreel", "eval"]
PLAN = """
[eval]
add_models = ["scripted:good", "scripted:skipping", "scripted:bad"]
strategies = ["raw", "production"]
scenarios = ["default", "restraint"]
trials = 2
jobs = 4

[[gate]]
metric = "rate"
model = "scripted:good"
at_least = 0.99
"""

with tempfile.TemporaryDirectory() as folder:
    plan, results = Path(folder, "evaluation.toml"), Path(folder, "results")
    plan.write_text(PLAN)
    subprocess.run([*TOOLREEL, "run", plan, "--out", results], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([*TOOLREEL, "summarize", results], check=True)
    subprocess.run([*TOOLREEL, "replay", results, "--check"], check=True)

    summary = json.loads((results / "summary.json").read_text())
    by_model: dict[str, list[float]] = {}
    for row in summary["models"]:
        by_model.setdefault(row["model_base"], []).append(row["tool_ok_rate"])
    assert by_model["scripted:good"] == [1.0, 1.0]
    assert by_model["scripted:bad"] == [0.0, 0.0]
    assert summary["pass_unexercised"] > 0, "the model that skips the hard part is right, and told apart"
