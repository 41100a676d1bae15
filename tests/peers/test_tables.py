"""What is made from the results: figures, tables, the picture, and the part of the docs."""

from __future__ import annotations

import pytest

from benchmarks.peers.budgets import budgets
from benchmarks.peers.contestant import Kind
from benchmarks.peers.figures import cpu_a_turn, ratio
from benchmarks.peers.page import IN_DOCS, PAGE, PICTURE, page
from benchmarks.peers.plot import plot
from benchmarks.peers.results import Imported, Machine, Measured, Results, Sample
from benchmarks.peers.table import budget_table, cpu_table
from benchmarks.shared.environment import ROOT

MACHINE = Machine("a processor", 2, "Linux", "3.11.7")


@pytest.fixture(scope="module")
def results() -> Results:
    return Results.load()


def test_the_docs_have_the_table_that_the_data_gives(results: Results) -> None:
    assert IN_DOCS.between((ROOT / "docs" / "compare.md").read_text("utf-8")) == cpu_table(results)


def test_the_page_and_the_picture_are_those_that_the_data_gives(results: Results) -> None:
    assert PAGE.read_text("utf-8") == page(results)
    assert PICTURE.read_text("utf-8") == plot(results)


def sample(turns: int, cpu_ms: float, *, runs: int = 1, cut: int = 0) -> Sample:
    cpu = turns * cpu_ms / 1e3
    return Sample(runs, turns, cut, failed=0, cpu=cpu, wall=2 * cpu, peak=2**26, more=2**24, server=cpu / 9)


def measured(name: str, kind: Kind, *costs: float, cut_at: int = 0) -> Measured:
    """One with samples of runs of 200 turns."""
    samples = [sample(cut_at or 200, cost, cut=1 if cut_at else 0) for cost in costs]
    return Measured(name, kind, "1.0", [Imported(0.2, 0.3, 2**25)], {200: samples})


def found(*contestants: Measured) -> Results:
    known = {one.name.replace(" ", "_"): one for one in contestants}
    return Results("2026-01-02", MACHINE, 15.0, 15.0, known, {"toolreel, fast": "No module named 'it'"})


def test_a_ratio_is_that_of_samples_of_the_same_round() -> None:
    busy_in_the_middle = measured("dear", "framework", 4.0, 90.0, 4.0)
    ours = measured("toolreel", "toolreel", 1.0, 30.0, 1.0)
    compared = ratio(busy_in_the_middle, ours, 200)
    assert compared is not None
    assert (compared.value, compared.at_least) == (4.0, False)
    assert ratio(busy_in_the_middle, ours, 10) is None


def test_what_was_cut_says_where_and_on_which_side_of_the_figure_the_whole_is() -> None:
    cut = measured("slow", "framework", 50.0, cut_at=120)
    figure = cpu_a_turn(cut, 200)
    assert figure is not None
    assert figure.cut_at == 120
    table = cpu_table(found(measured("toolreel", "toolreel", 1.0), cut))
    assert "| slow | 1.0 | > 50.0 (> 50x), cut at 120 | – | 200 ms |" in table


@pytest.mark.parametrize(
    ("cost", "cut_at", "said"),
    [
        (60.0, 0, "at least 50x | 60x | yes"),
        (40.0, 0, "at least 50x | 40x | **no**"),
        (40.0, 120, "at least 50x | at least 40x | not known, it was cut"),
        (60.0, 120, "at least 50x | at least 60x | yes"),
    ],
)
def test_a_budget_against_a_framework_that_was_cut_may_be_unknown(
    cost: float, cut_at: int, said: str
) -> None:
    frameworks = [measured("best", "framework", cost, cut_at=cut_at), measured("other", "framework", 200.0)]
    table = budget_table(found(measured("toolreel", "toolreel", 1.0), *frameworks))
    assert f"the best framework (best) against toolreel, 200 turns | {said} |" in table


@pytest.mark.parametrize(
    ("turns", "cut", "held"),
    [
        (10_000, 0, [True, True]),  # 1,000 runs in 5 s
        (4_000, 1_000, [False, None]),  # 400 of them in 5 s, which is too slow whatever would have come
        (6_000, 1_000, [None, None]),
    ],
)
def test_a_budget_for_runs_at_once_is_not_held_by_runs_that_were_cut(
    turns: int, cut: int, held: list[bool | None]
) -> None:
    ours = measured("toolreel async", "toolreel", 1.0)
    ours.many[1_000] = [sample(turns, 5_000 / turns, runs=1_000, cut=cut)]
    assert [budget.held for budget in budgets(found(ours))] == held
