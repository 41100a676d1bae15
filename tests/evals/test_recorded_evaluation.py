"""The evaluation of a real model under cassettes/evals, run by run and as a whole, without a network."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from toolreel._secrets.scan import leaks
from toolreel.evals._replay.replay import replays
from toolreel.evals._report.page import report_content, report_pictures
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel.evals._summary.summary_files import write_summaries

EVALUATIONS = Path(__file__).parents[2] / "cassettes" / "evals"
PICTURES = Path(__file__).parents[2] / "docs" / "evals"
FILES = (
    "summary.json",
    "summary_by_scenario.json",
    "summary_by_scenario_and_strategy.json",
    "summary_by_scenario_and_language_policy.json",
)


@pytest.fixture(scope="module")
def results() -> Results:
    return Results.open(EVALUATIONS / "local")


def test_every_run_is_as_it_was_recorded_and_judged_as_it_was(results: Results) -> None:
    again = [*replays(results, plan_of_header(results.header))]
    assert len(again) == len(results) == plan_of_header(results.header).count
    assert [one.drift for one in again if one.drift] == []


def test_it_is_summed_up_to_the_same_bytes(results: Results, tmp_path: Path) -> None:
    copied = tmp_path / results.path.name
    copied.mkdir()
    for name in ("header.json", "journal.jsonl"):
        shutil.copy(results.path / name, copied)
    write_summaries(Results.open(copied), plan_of_header(results.header))
    for name in FILES:
        assert (copied / name).read_bytes() == (results.path / name).read_bytes(), name


def test_nothing_of_it_holds_a_secret_or_a_path_of_the_machine_it_was_made_on(results: Results) -> None:
    for path in filter(Path.is_file, results.path.rglob("*")):
        text = path.read_text(encoding="utf-8")
        assert leaks(text, {}) == (), path
        assert not re.search(r"/root/|/home/|/Users/|[A-Z]:\\\\", text), path


def test_its_pictures_are_drawn_of_it(results: Results) -> None:
    pictures = report_pictures(report_content(results))
    assert {path.name for path in PICTURES.glob("*.svg")} == set(pictures)
    for name, text in pictures.items():
        assert (PICTURES / name).read_text(encoding="utf-8") == text, name
