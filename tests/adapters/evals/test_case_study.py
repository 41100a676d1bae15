"""The tables of the case study: as it has published them, and of evaluations."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluations import plan_with, recorded, scripted
from tests.evals.made import record
from toolreel._cli import eval_command
from toolreel.evals import case_study_tables, markdown_document, published_case_study_figures

QWEN = "qwen/qwen3-30b-a3b-instruct-2507:nitro"
DEEPSEEK = "deepseek/deepseek-v3.2:nitro"
STUDY = published_case_study_figures()


def report(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, ["report", *map(str, arguments)])


def test_its_snapshot_is_rendered_as_it_stands_there() -> None:
    page = markdown_document("", (), case_study_tables(STUDY, "the study"))
    for row in (
        "| raw | 593/725 (82%) | 496/580 (86%) | 97/145 (67%) | 8605 | 20366 | ASSERTION_FAILED (84), "
        "NO_TOOL_USE_ENDPOINT (20), NO_TOOL_CALLS (15), TOOL_ERROR (6), FORBIDDEN (5) |",
        "| long_arguments_guard | 104/145 (72%) | 101/145 (70%) | 108/145 (74%) | hardest |",
        "| google/gemini-3-pro-preview:nitro | default | 18/20 (90%) | 23951 | Conditional | Misses "
        "concentrated in long_arguments_guard. |",
        "| z-ai/glm-4.7-flash:nitro | glm_4_7_flash_tool_calling (t=0.7 top_p=1.0) | "
        r"content_tag_tool_call_fallback | No (for tool calling) | \~60% tool success in this snapshot. |",
    ):
        assert row in page
    assert len(re.findall(r"^## ", page, re.MULTILINE)) == 4


def test_an_evaluation_has_the_same_tables_beside_them(tmp_path: Path) -> None:
    scripted(tmp_path, "scripted:good", "scripted:bad", scenarios=["case-study"])
    page = tmp_path / "study.md"
    found = json.loads(report(tmp_path, "--case-study", "--markdown", page, "--json").stdout)
    assert found["study"] == STUDY
    whole = found["evaluation"]["strategy"]["raw"]
    assert (whole["overall"], whole["tools"], whole["control"]) == ([10, 20], [8, 16], [2, 4])
    assert whole["categories"] == {"ASSERTION_FAILED": 8, "TOOL_ERROR": 2}
    assert whole["scenarios"]["study_chat_only"] == [2, 4]
    heads = re.findall(r"^## (.*)\n\n\| (.*) \|$", page.read_text("utf-8"), re.MULTILINE)
    assert len(heads) == 8
    for (title, head), (study, same) in zip(heads[::2], heads[1::2], strict=True):
        assert title.replace("this evaluation", "the study") == study
        assert head == same or title.startswith("By scenario")


def test_the_best_profile_of_a_model_its_workaround_and_its_verdict(tmp_path: Path) -> None:
    """Void runs count as failures, as in the study; of equals, the first profile is the best."""
    plan = plan_with(
        QWEN,
        DEEPSEEK,
        strategies=["raw", "production"],
        profiles=["default", "recommended", "conversation"],
        scenarios=["happy_path", "long_arguments_guard", "chat_only"],
        trials=10,
        tables={"endpoint": {"base_url": "http://127.0.0.1:9", "provider": "openrouter"}},
    )
    runs = []
    for at in plan.cells():
        if at.strategy == "production":
            for trial in range(1, 11):
                failed = at.profile == "default" and at.model == DEEPSEEK and trial > 2
                brittle = at.scenario == "chat_only" and at.model == QWEN
                void = at.scenario == "long_arguments_guard" and trial == 1 and at.model == DEEPSEEK
                runs.append(record("void" if void else "fail" if failed or brittle else "pass", at, trial))
    found = json.loads(report(recorded(tmp_path, plan, runs), "--case-study", "--json").stdout)["evaluation"]
    assert [*found["strategy"]] == ["production"]
    qwen, deepseek = found["model"][QWEN], found["model"][DEEPSEEK]
    assert (qwen["profile"], qwen["tools"], qwen["preset"]) == ("default", [20, 20], "-")
    assert qwen["recommended"] == "Yes (tool scenarios)"
    assert qwen["notes"] == "control passes 0/10 (0%)"
    assert qwen["profiles"] == "default (no overrides) / qwen_recommended (t=0.7 top_p=0.8 top_k=20 min_p=0)"
    assert deepseek["profile"] == "deepseek_v3_2_local_recommended"
    assert deepseek["tools"] == [19, 20]
    assert deepseek["preset"] == "deepseek_openrouter_compat"
    assert deepseek["notes"] == "RATE_LIMIT (1)"
    assert deepseek["advice"].startswith("default 15%, deepseek_v3_2_local_recommended 95%")
    assert found["notes"] == {"long_arguments_guard": "hardest", "chat_only": "control"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--case-study"], "no run has been made yet"),
        (["--case-study", "--out", "x.html"], "--case-study prints tables; leave out"),
        (["--markdown", "page.md"], "--markdown needs --case-study"),
    ],
)
def test_what_makes_no_tables_is_refused(options: list[str], problem: str, tmp_path: Path) -> None:
    said = report(recorded(tmp_path, plan_with("m", scenarios=["one_text"]), []), *options)
    assert (said.exit_code, problem in said.stderr) == (2, True), said.output
