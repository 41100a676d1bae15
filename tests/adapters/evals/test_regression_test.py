"""Runs of evaluations as tests of somebody's project, which are really run there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import plan_at, quoting, written_out
from tests.evals.provider import provider
from tests.samples import complaint
from toolreel._cli import promote_command
from toolreel.evals import Results, evaluate, promoted_verdict
from toolreel_core._errors import ReplayMismatch
from toolreel_core.evals import Record


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals") / "results"
    with provider(kinds=("good",), worded=quoting) as there:
        evaluate(plan_at(there.url, ["other_script"], ["reads", "raw"]), folder)
    return folder


def run_of(folder: Path, strategy: str) -> Record:
    return next(record for record in Results.open(folder).records() if record.cell.strategy == strategy)


def promote(*arguments: object) -> Result:
    return CliRunner().invoke(promote_command, [*map(str, arguments)])


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    """Plain pytest, in somebody's project that has nothing else."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder))
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_failure_becomes_a_test_that_documents_it(failures: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    said = promote(failures, run_of(failures, "reads").key[:12], "--to", tests, "--name", "quoted call")
    assert said.exit_code == 0, said.output
    assert said.stdout.splitlines()[0].endswith("test_quoted_call.py asserts: fail loop.repeated_call")
    names = ["quoted_call", "test_quoted_call.py"]
    assert sorted(path.name for path in tests.iterdir()) == names
    ran = pytest_in(tests)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def test_a_failure_is_turned_around_in_its_test(failures: Path, tmp_path: Path) -> None:
    promote(failures, run_of(failures, "reads").key, "--to", tmp_path, "--name", "quoted")
    test = tmp_path / "test_quoted.py"
    cured = test.read_text().replace("CHANGES = {}", 'CHANGES = {"config": {"text_dialects": []}}')
    test.write_text(cured)
    with pytest.raises(AssertionError):
        run_path(str(test))["test_quoted"]()
    test.write_text(cured.replace('"fail"', '"pass"').replace('"loop.repeated_call"', '""'))
    run_path(str(test))["test_quoted"]()


def test_a_name_is_made_where_none_is_given_and_nothing_is_overwritten(
    failures: Path, tmp_path: Path
) -> None:
    record = run_of(failures, "raw")
    assert promote(failures, record.key, "--to", tmp_path, "--json").exit_code == 0
    name = f"other_script_raw_{record.key[:8]}"
    assert (tmp_path / f"test_{name}.py").exists()
    assert promoted_verdict(tmp_path / name).result == "pass"
    again = promote(failures, record.key, "--to", tmp_path)
    assert again.exit_code == 2
    assert "exists already; choose another name (--name)" in again.stderr


def test_changes_that_lead_elsewhere_are_told(tmp_path: Path) -> None:
    with provider(kinds=("good",), worded=written_out) as there:
        evaluate(plan_at(there.url), tmp_path / "results")
    assert promote(tmp_path / "results", "", "--to", tmp_path, "--name", "deaf").exit_code == 0
    run = tmp_path / "deaf"
    assert promoted_verdict(run).category == "loop.no_tool_calls"
    told = complaint(
        ReplayMismatch, lambda: promoted_verdict(run, {"config": {"text_dialects": ["hermes_json"]}})
    )
    assert "with these changes it parts from the recording at request 2 by messages: state_get(" in told


def test_a_key_names_one_run(failures: Path, tmp_path: Path) -> None:
    assert "2 runs have a key that begins with ''" in promote(failures, "", "--to", tmp_path).stderr
    assert "0 runs have a key that begins with 'x'" in promote(failures, "x", "--to", tmp_path).stderr
