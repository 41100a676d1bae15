"""``toolreel eval report``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluated import evaluated, scripted
from toolreel._cli.evals.report import report_command

PICTURES: Final = ("heatmap.svg", "strategies.svg", "failures.svg", "cost.svg")
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")


def asked(*arguments: str | Path) -> Result:
    return CliRunner().invoke(report_command, [*map(str, arguments)])


def test_a_report_stands_beside_the_results_unless_it_is_wanted_elsewhere(tmp_path: Path) -> None:
    scripted(tmp_path / "results", trials=1)
    result = asked(tmp_path / "results")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert result.stdout.startswith(f"{tmp_path}/results/report.html  ")
    result = asked(tmp_path / "results", "--out", tmp_path / "new" / "x.html", "--svg", tmp_path / "pics")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "new" / "x.html").read_text(encoding="utf-8") == page
    assert sorted(path.name for path in (tmp_path / "pics").iterdir()) == sorted(PICTURES)


def test_runs_of_scripts_are_told_without_cassettes(tmp_path: Path) -> None:
    scripted(tmp_path, trials=1, scenarios=["happy_path"])
    assert asked(tmp_path).exit_code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "completed: the model gave a final answer" in page
    assert "not recorded" in page


def test_programs_are_told_which_files_were_written(tmp_path: Path) -> None:
    scripted(tmp_path, trials=1, scenarios=["happy_path"])
    result = asked(tmp_path, "--svg", tmp_path, "--transcripts", "0", "--json")
    assert json.loads(result.stdout) == {
        "files": [str(tmp_path / name) for name in ("report.html", *PICTURES)],
        "complete": True,
    }


def test_an_incomplete_evaluation_is_said_to_be_one(tmp_path: Path) -> None:
    scripted(tmp_path, trials=1, scenarios=["happy_path"])
    journal = tmp_path / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    result = asked(tmp_path)
    assert result.exit_code == 0
    assert "The evaluation is incomplete" in result.stderr


def test_a_directory_without_results_is_a_mistake(tmp_path: Path) -> None:
    result = asked(tmp_path)
    assert result.exit_code == 2
    assert "header.json: there is no evaluation" in result.stderr


def test_without_its_extra_the_command_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(tmp_path, trials=1, scenarios=["happy_path"])
    monkeypatch.delitem(sys.modules, "toolreel.evals._report.page", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = asked(tmp_path)
    assert result.exit_code == 2
    assert "pip install 'toolreel[report]'" in result.stderr


def test_the_page_opens_in_the_browser_if_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(tmp_path, trials=1, scenarios=["happy_path"])
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    assert asked(tmp_path, "--open").exit_code == 0
    assert opened == [(tmp_path / "report.html").as_uri()]


@pytest.mark.slow
def test_a_real_browser_shows_the_page_and_nothing_goes_out(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("no browser here")
    evaluated(tmp_path / "results", "local-good", "local-hostile")
    assert asked(tmp_path / "results").exit_code == 0
    shown = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"),
            (tmp_path / "results" / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    # The page's own script has run, nobody else's has, and the policy had nothing to refuse.
    assert '<button type="button">category</button>' in shown.stdout
    assert "Content Security Policy" not in shown.stderr
    assert "CONSOLE" not in shown.stderr
