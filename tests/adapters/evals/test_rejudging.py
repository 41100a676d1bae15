"""Recorded replies under other strategies, and bisected ones: a provider on this machine plays a model."""

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
from toolreel._cli import eval_command
from toolreel.evals import Results, evaluate, plan_of_header, promote, promoted_verdict
from toolreel_core._errors import ReplayMismatch


def said(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, [*map(str, arguments)])


def told(*arguments: object) -> dict[str, Any]:
    result = said(*arguments, "--json")
    assert result.exit_code == 0, result.output
    tree: dict[str, Any] = json.loads(result.stdout)
    return tree


def rejudged(folder: Path, recorded: str, other: str) -> list[str]:
    """What becomes of each run of a strategy under another; why, where it is undecided."""
    runs = told("replay", folder, "--strategy", other)["runs"]
    return [run["undecided"] or run["fate"] for run in runs if run["replies of"] == recorded]


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
    assert rejudged(quoted, "reads", "raw") == ["gained"] * 6
    shown = said("replay", quoted, "--strategy", "raw").stdout
    assert "reads -> raw: 6 runs, 6 gained, 0 lost, 0 unchanged, 0 undecided" in shown
    key = told("replay", quoted, "--strategy", "raw")["runs"][0]["run"]
    assert len(told("replay", quoted, key, "--strategy", "raw")["runs"]) == 1


def test_losses_are_told_too_and_what_a_strategy_would_have_to_ask_for_is_undecided(written: Path) -> None:
    assert rejudged(written, "reads", "raw") == ["lost"] * 3
    parted = ["it parts from the recording at request 2 by messages"] * 3
    assert rejudged(written, "raw", "reads") == parted
    assert rejudged(written, "reads", "deaf") == parted


def test_options_and_the_way_that_calls_are_written_are_none(tmp_path: Path) -> None:
    with provider(kinds=("good", "bad", "skipping")) as there:
        plan = plan_at(there.url, ["happy_path", "type_error_recovery"], eval={"trials": 3})
        evaluate(plan, tmp_path)
    found = rejudged(tmp_path, "raw", "production")
    assert "unchanged" in found
    assert not any(each.endswith(("options", "tools")) for each in found)


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
    assert rejudged(plain, "raw", strategy) == [f"it parts from the recording at request 1 by {kind}"] * 2


def test_a_promoted_run_is_not_judged_by_replies_to_other_options(plain: Path, tmp_path: Path) -> None:
    results = Results.open(plain)
    promote(results, plan_of_header(results.header), next(results.records()).key, tmp_path, "it")
    assert promoted_verdict(tmp_path / "it", {"config": {"max_turns": 9}}).result == "pass"
    why = complaint(
        ReplayMismatch, lambda: promoted_verdict(tmp_path / "it", {"options": {"temperature": 0}})
    )
    assert "it parts from the recording at request 1 by options: temperature" in why


def test_what_was_not_recorded_is_undecided(tmp_path: Path, written: Path) -> None:
    for name in ("header.json", "journal.jsonl"):
        text = (written / name).read_text()
        (tmp_path / name).write_text(text if name == "header.json" else "".join(_without_cassettes(text)))
    assert {*rejudged(tmp_path, "raw", "reads")} == {"the run was not recorded"}


def _without_cassettes(text: str) -> Iterator[str]:
    for connection in text.splitlines():
        tree = json.loads(connection)
        del tree["cassette"]
        yield json.dumps(tree) + "\n"


TWO_DIALECTS = {
    "extends": "raw",
    "config": {"text_dialects": ["hermes_json", "json_fenced", "react"], "max_turns": 9},
    "request": {"top_p": 1},
}


def in_two_dialects(reply: dict[str, Any]) -> dict[str, Any]:
    """A model that writes its first call in one dialect, and its second in another."""
    changed = written_out(reply)
    message = changed["choices"][0]["message"]
    if "state_patch" in message["content"]:
        call = message["content"].removeprefix("<tool_call>").removesuffix("</tool_call>")
        message["content"] = f"```json\n{call}\n```"
    return changed


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs that are won under ``two`` alone, and three that are lost under ``raw``."""
    folder = tmp_path_factory.mktemp("evals") / "two"
    with provider(kinds=("good",), worded=in_two_dialects) as there:
        plan = plan_at(
            there.url, strategies=["raw", "two"], eval={"trials": 3}, strategy={"two": TWO_DIALECTS}
        )
        evaluate(plan, folder)
    assert sorted(verdicts(folder)) == ["fail"] * 3 + ["pass"] * 3
    return folder


def test_settings_that_are_needed_together_are_found_and_nothing_else(two: Path) -> None:
    tree = told("bisect", two, "--to", "two")
    assert tree["from"] == {"raw": {"gained": 3, "lost": 0, "unchanged": 0, "undecided": 3}}
    for run in tree["runs"]:
        if run["fate"] == "gained":
            assert run["replies of"] == "two"
            assert {*run["settings"].split()} == {
                "config.text_dialects+hermes_json",
                "config.text_dialects+json_fenced",
            }
        else:
            assert run["undecided"] == "it parts from the recording at request 2 by messages"
    assert [(key["alone"], key["together"]) for key in tree["settings"]] == [("0/3", "3/3")] * 2


def test_a_setting_that_suffices_alone_is_the_whole_set(written: Path) -> None:
    tree = told("bisect", written, "--to", "reads")
    assert {run["settings"] for run in tree["runs"] if run["fate"] == "gained"} == {
        "config.text_dialects+hermes_json"
    }
    assert [(key["alone"], key["together"]) for key in tree["settings"]] == [("3/3", "0/3")]
    gained = next(run for run in tree["runs"] if run["fate"] == "gained")
    assert (gained["lost by"], gained["scenario"]) == ("loop.no_tool_calls", "happy_path")


def test_what_a_strategy_breaks_is_bisected_the_other_way_round(two: Path) -> None:
    shown = said("bisect", two, "--from", "two", "--to", "raw")
    assert shown.exit_code == 0, shown.output
    assert "two -> raw: 6 runs, 0 gained, 3 lost, 0 unchanged, 3 undecided" in shown.stdout
    assert "No run is turned" in shown.stdout


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"),
    [
        ("bisect", ("--to", "raw"), "both strategies are 'raw'; name two"),
        ("bisect", ("--to", "tow"), "there is no strategy 'tow'; did you mean 'two'?"),
        ("bisect", ("feed", "--to", "two"), "no run of raw or two is meant"),
        (
            "bisect",
            ("--from", "baseline", "--to", "production"),
            "no run of baseline or production is meant; there are runs of raw, two",
        ),
        ("replay", ("--strategy", "prodction"), "'prodction'"),
        ("replay", ("--strategy", "all"), "means several strategies"),
        ("replay", ("feed", "--strategy", "raw"), "no run of another strategy than raw"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    two: Path, command: str, arguments: tuple[str, ...], sentence: str
) -> None:
    shown = said(command, two, *arguments)
    assert shown.exit_code == 2, shown.output
    assert sentence in shown.stderr
