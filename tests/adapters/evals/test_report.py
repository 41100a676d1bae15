"""The report of an evaluation that was really run: one page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evals.evaluations import plan_with, recorded, served
from toolreel.evals import Results, plan_of_header, report_page, transcript_of
from toolreel_core.evals import EvalPlan, Trial


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results")
    served(folder, "local-good", "local-hostile", "local-skipping")
    return Results.open(folder)


@pytest.fixture(scope="module")
def plan(results: Results) -> EvalPlan:
    return plan_of_header(results.header)


@pytest.fixture(scope="module")
def trials(results: Results, plan: EvalPlan) -> tuple[Trial, ...]:
    return results.trials(plan)


@pytest.fixture(scope="module")
def page(results: Results) -> str:
    return report_page(results)


def data_of(page: str, ident: str) -> Any:  # noqa: ANN401 - JSON
    """An element of the page's data."""
    text = page.partition(f' id="{ident}">')[2].partition("</script>")[0]
    return json.loads(text if text.startswith("{") else gzip.decompress(base64.b64decode(text)))


def told(page: str, key: str) -> dict[str, Any]:
    """The transcript of a run, as the page's script reads it."""
    (cell,) = [run[0] for run in data_of(page, "run-index")["runs"] if run[2] == key[:12]]
    found: dict[str, Any] = data_of(page, f"cell-{cell}")[key[:12]]
    return found


def test_the_same_results_give_the_same_bytes(results: Results, page: str) -> None:
    assert report_page(Results.open(results.path)) == page
    assert "2026-11-22T08:30:00Z" in page


def test_each_cell_of_the_heat_map_has_its_rate_and_leads_to_its_runs(page: str) -> None:
    """Scenarios stand under their pack."""
    table = page.partition('<table class="heat"')[2].partition("</table>")[0]
    head, *rows = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.replace("<wbr>", "").split("<tr>")[1:]
    ]
    assert head[:3] == ["scenario", "local-good:raw", "local-good:production"]
    assert [row[0] for row in rows] == [
        *("pack reference", "happy_path", "partial_success_failure", "chat_only"),
    ]
    skipping = rows[2][5]
    assert "100% (34.2 to 100 %): 2 passed without the hard part" in skipping
    assert re.match(r'<a href="#cell=[0-9a-f]{12}">', skipping)
    assert 'class="heat10"' in table


def test_a_run_is_told_turn_by_turn_from_its_cassette(trials: tuple[Trial, ...], page: str) -> None:
    one = next(each for each in trials if each.cell.axes[:1] == ("local-good",))
    run = told(page, one.key)
    assert [role for role, _ in run["opening"]] == ["system", "user"]
    assert [[call["name"] for call in turn["calls"]] for turn in run["turns"]] == [
        ["state_get"],
        ["state_patch"],
        [],
    ]
    assert "draft:1" in run["turns"][1]["calls"][0]["result"]
    assert run["turns"][-1]["text"] == "Done."
    assert run["ending"] == "completed: the model gave a final answer"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 99}, "is not in the recording"),
        ({"cassette": ""}, "was not recorded"),
        ({"cassette": "x.yaml"}, "x.yaml: there is no such cassette: record it first"),
    ],
)
def test_a_run_that_would_be_another_now_is_not_told(
    results: Results, plan: EvalPlan, changes: dict[str, Any], problem: str
) -> None:
    record = replace(results.records()[0], **changes)
    assert problem in str(transcript_of(record, plan, results.path)["problem"])


def test_a_report_of_nothing_is_a_page_too(tmp_path: Path) -> None:
    page = report_page(Results.open(recorded(tmp_path, plan_with("m", scenarios=["happy_path"]), [])))
    assert "Incomplete (runs not made: 1, void: 0)" in page
