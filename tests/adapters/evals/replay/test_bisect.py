"""Bisected strategies: a provider on this machine, and the recorded evaluation of a real model."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import plan_at, verdicts, written_out
from tests.evals.provider import provider
from toolreel._cli import eval_command
from toolreel.evals import Results, TrialAnswer, bisected, evaluate, plan_of_header, smallest_set

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


def bisect(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, ["bisect", *map(str, arguments)])


def test_settings_that_are_needed_together_are_found_and_nothing_else(two: Path) -> None:
    results = Results.open(two)
    found = bisected(results, plan_of_header(results.header), "raw", "two")
    assert sorted(each.fate for each in found) == ["gained"] * 3 + ["undecided"] * 3
    for each in found:
        if each.found:
            assert each.record.cell.strategy == "two"
            assert {*map(str, each.found.items)} == {
                "config.text_dialects+hermes_json",
                "config.text_dialects+json_fenced",
            }
            assert each.found.alone == ()
    told = json.loads(bisect(two, "--to", "two", "--json").stdout)
    assert [(key["alone"], key["together"]) for key in told["keys"]] == [(0, 3), (0, 3)]
    assert {*told["idle"]} == {"config.max_turns", "config.text_dialects+react", "request.top_p"}
    assert told["reasons"] == [{"reason": "the recording has no answer at turn 2", "runs": 3}]


def test_each_row_has_a_command_that_shows_it(two: Path) -> None:
    told = json.loads(bisect(two, "--to", "two", "--json").stdout)
    assert (told["gained"], told["undecided"], told["lost"]) == (3, 3, 0)
    for row in (*told["keys"], *(run for run in told["runs"] if run["fate"] == "gained")):
        words = shlex.split(row["command"])
        assert words[:3] == ["toolreel", "eval", "bisect"]
        shown = bisect(*words[3:])
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.endswith("  pass\n")
    [one] = [run for run in told["runs"] if run["fate"] == "gained"][:1]
    shown = bisect(*shlex.split(one["command"])[3:-2])
    assert "undecided: the recording has no answer at turn" in shown.stdout or "fail" in shown.stdout


def test_what_a_strategy_breaks_is_bisected_the_other_way_round(two: Path) -> None:
    said = bisect(two, "--from", "two", "--to", "raw")
    assert said.exit_code == 0, said.output
    assert "two -> raw: 6 runs, 0 gained, 3 lost, 0 unchanged, 0 diverged, 3 undecided" in said.stdout
    assert "toolreel eval bisect DIR --from raw --to two" in said.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--to", "raw"), "--from and --to both mean 'raw'; name two strategies"),
        (("--to", "tow"), "there is no strategy 'tow'; did you mean 'two'?"),
        (("feed", "--to", "two"), "no run of raw or two is meant; name fewer conditions"),
        (("--to", "two", "--only", "config.max_turn"), "there is no difference 'config.max_turn'"),
        (("--from", "baseline", "--to", "production"), "there is no strategy 'baseline'"),
    ],
)
def test_mistakes_are_told_in_a_sentence(two: Path, arguments: tuple[str, ...], sentence: str) -> None:
    said = bisect(two, *arguments)
    assert said.exit_code == 2, said.output
    assert sentence in said.stderr


def asked(wanted: set[str], items: str, most: int = 2_000) -> tuple[str, bool]:
    def ask(some: tuple[str, ...]) -> TrialAnswer:
        assert 0 < len(some) < len(items), "never for none of the items, nor for all"
        return "yes" if wanted <= set(some) else "undecided" if "?" in some else "no"

    found = smallest_set(tuple(items), ask, most)
    return "".join(found.items), found.smallest


@pytest.mark.parametrize("wanted", ["a", "be", "acf", "abcdef"])
def test_the_smallest_set_is_found_whatever_it_is(wanted: str) -> None:
    assert asked({*wanted}, "abcdef") == (wanted, True)
    assert asked({*wanted}, "abcdef", most=0)[0] == wanted, "halving finds it too, where only one set does"
    assert asked({"b", "e"}, "abc?ef") == ("be", False), "a smaller one may be among the undecided"
