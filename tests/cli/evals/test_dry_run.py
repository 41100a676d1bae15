"""``toolreel eval run --dry-run``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.samples import worked
from toolreel._cli import run_command

LOCAL = (
    *("--model", "qwen2.5-coder-1.5b", "--base-url", "http://127.0.0.1:8080", "--provider", "llama_cpp"),
)


def asked(*arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(run_command, ["--dry-run", *arguments], env=environ)


def told(*arguments: str, **environ: str) -> dict[str, Any]:
    result = asked(*arguments, "--json", **environ)
    assert result.exit_code == 0, result.output
    tree: dict[str, Any] = json.loads(result.stdout)
    return tree


def test_a_plan_is_shown_before_anything_is_sent() -> None:
    result = asked("--preset", "typical", "--models", "stable,z_ai", "--max-cost", "5")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "runs        600 = 8 model and profile pairs × 3 strategies × 5 scenarios × 5 trials"
    assert (
        "endpoint    https://openrouter.ai/api/v1/chat/completions, openrouter, key from OPENROUTER_API_KEY"
        in lines
    )
    assert 'cost        unknown: the plan has no prices; give them as [prices."MODEL"]' in lines
    assert "budget      max_cost 5" in lines
    assert lines[-1].startswith(
        "power       with 4 scenarios of 40 pairs each, nothing can be seen, however many "
    )


def test_a_local_model_is_planned_by_its_name_and_no_key_goes_to_it() -> None:
    result = asked(*LOCAL, "--strategies", "raw,raw,production", OPENROUTER_API_KEY="secret")
    lines = result.stdout.splitlines()
    assert "endpoint    http://127.0.0.1:8080/v1/chat/completions, llama_cpp, without a key" in lines
    unknown = asked(*LOCAL[:4]).stdout
    assert "a provider of which nothing is known (--provider), without a key" in unknown
    assert "runs        5 = 5 scenarios" in unknown


def test_one_object_says_all_of_it_to_machines() -> None:
    tree = told("--preset", "full")
    assert tree["runs"] == 6_960
    assert sum(map(len, tree["plan"]["models"].values())) == 29, "as in the snapshot of the case study"
    assert tree["estimate"]["cost"] is None


def test_a_shard_is_planned_as_the_part_that_it_is() -> None:
    plan = (*LOCAL, "--strategies", "raw,production", "--trials", "3")
    result = asked(*plan, "--shard", "1/2")
    whole, shard = told(*plan), told(*plan, "--shard", "1/2")
    assert result.stdout.startswith(
        f"runs        {shard['runs']} in shard 1/2, of 30 = 2 strategies × 5 scenarios × 3 trials\n"
    )
    assert (whole["runs"], whole["power"], whole["digest"]) == (30, shard["power"], shard["digest"])
    assert shard["runs"] < 30
    assert shard["estimate"]["requests"] < whole["estimate"]["requests"]


def test_prices_make_a_cost_and_one_that_is_unknown_is_told(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[eval]\nmodels = "openai"\n[prices."openai/gpt-5.2:nitro"]\nprompt = 1\ncompletion = 8\n'
    )
    said = asked(str(plan)).stdout
    assert "and more: no price of openai/gpt-5.2-chat:nitro" in said
    priced = asked(str(plan), "--models", "openai/gpt-5.2")
    assert "cost        0.03" in priced.stdout


def test_options_go_over_the_file_and_the_file_over_the_environment(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[eval]\ntrials = 3\njobs = 2\n[sampling]\ntop_p = 0.5\n")
    options = told(
        *(str(plan), "--jobs", "4", "--set", "max_turns=5", "--set", "max_tokens=99"),
        *("--header", "X-Tenant=TENANT", "--tool-allowlist", "all", "--seeds"),
        OPENROUTER_TRIALS="9",
        OPENROUTER_MIN_P="0.2",
    )["plan"]["options"]
    assert (options["eval"]["trials"], options["eval"]["jobs"]) == (3, 4)
    assert (options["eval"]["tool_allowlist"], options["eval"]["seeds"]) == ([], True)
    assert options["sampling"] == {"top_p": 0.5, "min_p": 0.2, "max_tokens": 99}
    assert options["loop"] == {"max_turns": 5}
    assert options["endpoint"]["headers_env"] == {"X-Tenant": "TENANT"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    worked("a slip in the options of an evaluation is told", "commands"),
)
def test_a_slip_is_told_with_its_option_and_ends_with_usage(arguments: list[str], said: str) -> None:
    result = asked(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
