"""Recorded replies under other strategies, against a provider on this machine that plays a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import plan_at, quoting, verdicts, written_out
from tests.evals.provider import provider
from tests.samples import complaint
from toolreel._cli import replay_command
from toolreel._internal import ResultsError
from toolreel.evals import Promoted, Rejudged, Results, evaluate, plan_of_header, promote, rejudged_under
from toolreel_core._errors import ConfigError, ReplayMismatch


def rejudged(folder: Path, recorded: str, other: str) -> list[Rejudged]:
    results = Results.open(folder)
    return rejudged_under(results, plan_of_header(results.header), other)[1][recorded]


def what_if(*arguments: object) -> Result:
    return CliRunner().invoke(replay_command, [*map(str, arguments)])


@pytest.fixture(scope="module")
def quoted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that quotes a call in its answer, six times; ``reads`` takes it for one, ``raw`` does not."""
    folder = tmp_path_factory.mktemp("evals") / "quoted"
    with provider(kinds=("good",), worded=quoting) as there:
        evaluate(plan_at(there.url, ["other_script"], ["reads"], eval={"trials": 6}), folder)
    return folder


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that writes its calls into its text, three times; ``reads`` hears them, ``raw`` does not."""
    folder = tmp_path_factory.mktemp("evals") / "written"
    with provider(kinds=("good",), worded=written_out) as there:
        evaluate(plan_at(there.url, strategies=["raw", "reads"], eval={"trials": 3}), folder)
    return folder


def test_recoveries_come_from_the_same_replies(quoted: Path) -> None:
    assert verdicts(quoted) == ["fail"] * 6
    assert [run.fate for run in rejudged(quoted, "reads", "raw")] == ["gained"] * 6


def test_losses_are_told_too_and_what_a_strategy_would_have_to_ask_for_diverges(written: Path) -> None:
    assert [run.fate for run in rejudged(written, "reads", "raw")] == ["lost"] * 3
    assert [run.diverged for run in rejudged(written, "raw", "reads")] == ["turn 2 by calls"] * 3
    assert [run.diverged for run in rejudged(written, "reads", "deaf")] == ["turn 2 by nudge"] * 3


def test_options_and_the_way_that_calls_are_written_are_none(tmp_path: Path) -> None:
    with provider(kinds=("good", "bad", "skipping")) as there:
        plan = plan_at(there.url, ["happy_path", "type_error_recovery"], eval={"trials": 3})
        evaluate(plan, tmp_path)
    found = rejudged(tmp_path, "raw", "production")
    assert {run.diverged.rpartition(" ")[2] for run in found if run.fate == "diverged"} <= {"nudge"}
    assert any(run.fate in {"won", "failed"} for run in found)


ON_THE_MODEL: Final[dict[str, Any]] = {
    "cold": {"extends": "raw", "request": {"temperature": 0}},
    "held": {"extends": "raw", "config": {"constrained_calls": "response_format"}},
    "shown": {"extends": "raw", "config": {"tool_transforms": ["tool_example_call"]}},
    "routed": {"extends": "raw", "request_overrides": {"provider": {"only": ["x"]}}},
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals") / "plain"
    with provider(kinds=("good",)) as there:
        evaluate(plan_at(there.url, strategy=ON_THE_MODEL, eval={"trials": 2}), folder)
    return folder


@pytest.mark.parametrize("strategy", ON_THE_MODEL)
def test_what_acts_on_the_model_alone_is_not_called_unchanged(strategy: str, plain: Path) -> None:
    """Its recorded replies are those to another question, so nothing is known before the model is asked."""
    kind = "tools" if strategy in {"shown", "held"} else "options"
    assert [run.diverged for run in rejudged(plain, "raw", strategy)] == [f"turn 1 by {kind}"] * 2


def test_a_promoted_run_is_not_judged_by_replies_to_other_options(plain: Path, tmp_path: Path) -> None:
    results = Results.open(plain)
    promote(results, plan_of_header(results.header), next(results.records()), tmp_path, "it")
    run = Promoted.open(tmp_path / "it.json")
    assert run.verdict({"config": {"max_turns": 9}}).result == "pass"
    said = complaint(ReplayMismatch, lambda: run.verdict({"options": {"temperature": 0}}))
    assert "parts from its recording at turn 1 by options: temperature" in said


def test_strategies_that_there_are_not_are_told(plain: Path, written: Path) -> None:
    assert "'prodction'" in complaint(ConfigError, lambda: rejudged(written, "raw", "prodction"))
    assert "no run of another strategy" in complaint(ResultsError, lambda: rejudged(plain, "raw", "raw"))
    assert "means several strategies" in complaint(ConfigError, lambda: rejudged(written, "raw", "all"))


def test_what_was_not_recorded_is_undecided(tmp_path: Path, written: Path) -> None:
    for name in ("header.json", "journal.jsonl"):
        text = (written / name).read_text()
        (tmp_path / name).write_text(text if name == "header.json" else "".join(_without_cassettes(text)))
    assert {run.reason for run in rejudged(tmp_path, "raw", "reads")} == {"the run was not recorded"}


def _without_cassettes(text: str) -> Iterator[str]:
    for connection in text.splitlines():
        tree = json.loads(connection)
        del tree["cassette"]
        yield json.dumps(tree) + "\n"


def test_the_command_tells_it_in_every_form(quoted: Path) -> None:
    said = what_if(quoted, "--strategy", "raw")
    assert said.exit_code == 0
    assert "reads -> raw: 6 runs, 6 gained, 0 lost, 0 unchanged, 0 diverged, 0 undecided" in said.stdout
    tree = json.loads(what_if(quoted, "--strategy", "raw", "--json").stdout)
    assert tree["from"]["reads"]["gained"] == 6
    key = tree["from"]["reads"]["runs"][0]["key"]
    assert (
        len(json.loads(what_if(quoted, key, "--strategy", "raw", "--json").stdout)["from"]["reads"]["runs"])
        == 1
    )
