from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.evals.own_scenario_files import RESERVE, written
from tests.samples import worked
from toolreel._cli import check_command, eval_command, new_command
from toolreel.evals import proof_of, read_scenarios, scenario_template
from toolreel_core._errors import ConfigError


def new(*arguments: object) -> Result:
    return CliRunner().invoke(new_command, [*map(str, arguments)])


def check(*arguments: object) -> Result:
    return CliRunner().invoke(check_command, [*map(str, arguments)])


def test_a_new_scenario_holds_as_it_stands_and_proves_every_check(tmp_path: Path) -> None:
    path = tmp_path / "my" / "refund.toml"
    path.parent.mkdir()
    said = new(path)
    assert (said.exit_code, said.stdout.splitlines()[0].endswith("is written.")) == (0, True)
    found = check(path)
    assert found.exit_code == 0
    assert found.stdout.splitlines() == [
        "refund: holds",
        "  good: pass in all 20 trials",
        "  skipping: pass_unexercised in all 20 trials",
        "  bad: fail in all 20 trials",
    ]


def test_a_file_is_never_overwritten_and_a_name_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert new("refund").exit_code == 0
    said = new("refund")
    assert said.exit_code == 2
    assert "refund.toml: exists already; choose another file" in said.stderr
    assert "expected small letters" in new("Re fund").stderr
    assert new("mine/later.toml").exit_code == 0
    assert 'name = "later"' in Path("mine/later.toml").read_text()
    assert "cannot be written" in new("refund.toml/x.toml").stderr


@pytest.mark.parametrize(
    ("old", "changed", "told"),
    worked("a script that comes to another verdict is told with a remedy", "commands"),
)
def test_a_script_that_comes_to_another_verdict_is_told_with_a_remedy(
    tmp_path: Path, old: str, changed: str, told: list[str]
) -> None:
    assert old in RESERVE
    found = check(written(tmp_path, RESERVE.replace(old, changed)), "--trials", 3)
    assert found.exit_code == 1
    assert "reserve_lamps: does not hold" in found.stdout
    for sentence in told:
        assert sentence in found.stdout


def test_a_check_that_no_script_fails_is_told(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        RESERVE.replace("[script]", '[[check]]\nnever = "stock_of"\nwith = { sku = "x" }\n\n[script]'),
    )
    assert "note: no script fails the check 'never_stock_of'" in check(path, "--trials", 2).stdout
    tree = json.loads(check(path, "--json", "--trials", 2).stdout)
    assert tree["holds"] is True
    assert tree["scenarios"][0]["never_failed"] == ["never_stock_of"]
    bad = tree["scenarios"][0]["scripts"][-1]
    assert (bad["kind"], bad["wanted"]) == ("bad", "fail")
    assert [verdict["result"] for verdict in bad["verdicts"]] == ["fail"] * 2


def test_a_scenario_without_scripts_proves_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, RESERVE[: RESERVE.index("[script]")])
    with pytest.raises(ConfigError, match=r"reserve_lamps has no scripts, .*write \[script\]"):
        proof_of(read_scenarios(path)[0])
    assert check(path).exit_code == 2


def test_a_pattern_that_run_takes_is_taken_by_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(scenario_template(name))
    said = CliRunner().invoke(eval_command, ["scenario", "check", "*.toml", "--trials", "1"])
    assert (said.exit_code, said.stdout.count("holds")) == (0, 2)
    none = CliRunner().invoke(eval_command, ["scenario", "check", "x/*.toml"])
    assert (none.exit_code, "no file fits 'x/*.toml'" in none.stderr) == (2, True)
