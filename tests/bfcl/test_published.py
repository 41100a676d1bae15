"""The published counts, the page that shows them, and what is waived."""

from __future__ import annotations

from benchmarks.bfcl.cases import CATEGORIES
from benchmarks.bfcl.model import WAYS
from benchmarks.bfcl.results import HERE, by_settings, published, table, with_table
from benchmarks.bfcl.rows import Row, Settings, unexpected
from benchmarks.bfcl.shapes import SHAPES
from benchmarks.bfcl.strategies import STRATEGIES
from benchmarks.bfcl.waivers import WAIVERS

CANONICAL = Settings("canonical", "production", "sequential")


def test_every_row_of_the_matrix_is_published() -> None:
    rows = [Settings(shape, strategy, way) for shape in SHAPES for strategy in STRATEGIES for way in WAYS]
    assert [*by_settings(published())] == rows


def test_under_production_no_case_breaks_and_without_repairs_most_shapes_break_nearly_all() -> None:
    counts = by_settings(published())
    assert {broken for row, broken in counts.items() if row.strategy == "production"} == {0}
    assert {broken for row, broken in counts.items() if row.shape == "canonical"} == {0}
    breaking = {row.shape for row, broken in counts.items() if broken > 700}
    assert len(breaking) >= 5


def test_the_page_shows_the_counts_as_they_are() -> None:
    page = (HERE / "README.md").read_text("utf-8")
    assert page == with_table(page, table(published()))


def test_the_locked_release_is_the_one_that_was_counted() -> None:
    locked = (HERE / "requirements.txt").read_text("utf-8")
    assert f"bfcl-eval=={published()['bfcl_eval']} " in locked
    assert "--hash=sha256:" in locked
    assert "index" not in locked


def test_five_cases_are_waived_by_name() -> None:
    assert [*WAIVERS] == [
        *(f"multi_turn_{category}_173" for category in CATEGORIES),
        "multi_turn_miss_func_49",
    ]


def test_a_waived_case_has_to_break_and_with_just_its_fault() -> None:
    apart = {case: f"turn 3: executed None; {waiver.fault}" for case, waiver in WAIVERS.items()}
    assert [*unexpected(Row(CANONICAL, 800, apart), ())] == []
    other = {**apart, "multi_turn_base_173": "turn 0: executed None", "multi_turn_base_1": "turn 1: state"}
    assert [*unexpected(Row(CANONICAL, 800, other), ())] == [
        "multi_turn_base_173 (canonical, production, sequential): turn 0: executed None",
        "multi_turn_base_1 (canonical, production, sequential): turn 1: state",
    ]
    del apart["multi_turn_base_173"]
    [told] = unexpected(Row(CANONICAL, 800, apart), ())
    assert told.startswith("multi_turn_base_173 ")
    assert "take the waiver back" in told
    assert [*unexpected(Row(CANONICAL, 1), ["multi_turn_base_1"])] == []
    assert Row(CANONICAL, 800, other).broken == 1
