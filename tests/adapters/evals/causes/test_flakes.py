"""Flaky cells of evaluations that were really run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.evals.provided import evaluated, planned
from tests.evals.provider import provider
from toolreel._cli.evals.group import eval_command
from toolreel.evals._causes.flakes import flakes_of
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results


def flakes(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, ["flakes", *map(str, arguments)])


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a model that writes a wrong value in some of the trials, in the same two calls."""
    folder = tmp_path_factory.mktemp("evals") / "mixed"
    with provider(kinds=("good", "bad")) as there:
        evaluated(planned(there.url, ["happy_path"], eval={"trials": 8}), folder)
    return folder


def test_trials_with_identifiers_of_their_own_part_where_the_model_does(mixed: Path) -> None:
    results = Results.open(mixed)
    found = flakes_of(results, plan_of_header(results.header))
    [cell] = found.of("flaky")
    assert 0 < cell.count.passed < cell.count.runs == 8
    assert cell.parting is not None
    # The good script names the workspace when it reads, the bad one does not.
    assert (cell.parting.turn, cell.parting.deciding) == (1, 1)
    assert len(cell.parting.variants) == 2
    assert sorted(len(one.passed) for one in cell.parting.variants) == [0, cell.count.passed]


def test_markdown_and_mistakes(mixed: Path, tmp_path: Path) -> None:
    page = tmp_path / "flakes.md"
    assert flakes(mixed, "--markdown", page).exit_code == 0
    assert "## flaky cells" in page.read_text("utf-8")
    wrong = flakes(mixed, "--flaky", "0.01")
    assert wrong.exit_code == 2
    assert "--broken and --flaky: expected two rates" in wrong.stderr


def test_a_cell_whose_recordings_are_gone_says_so(tmp_path: Path) -> None:
    with provider(kinds=("good", "bad")) as there:
        evaluated(planned(there.url, ["happy_path"], eval={"trials": 8}), tmp_path)
    for cassette in tmp_path.rglob("*.yaml"):
        cassette.unlink()
    results = Results.open(tmp_path)
    [cell] = flakes_of(results, plan_of_header(results.header)).of("flaky")
    assert cell.parting is None
    assert cell.why
    assert cell.why.split(":")[0] in flakes(tmp_path).stdout
