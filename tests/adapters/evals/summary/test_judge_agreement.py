"""Judges against the other checks: agreement, Cohen's kappa, votes that part, and what the table says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals.directories import plan_with, read, recorded
from tests.evals.made import cell, record
from toolreel.evals._statistics.intervals import wilson
from toolreel.evals._store.results import Results
from toolreel.evals._summary.judge_agreement import agreements, cohen_kappa
from toolreel.evals._summary.summary_files import write_summaries
from toolreel.evals._summary.summary_statistics import findings_of
from toolreel.evals._tables.summary_tables import summary_tables
from toolreel_core.evals._records.record import JudgedCheck, Record
from toolreel_core.evals._statistics.counts import Count
from toolreel_core.evals._summary.summary import RunEntry, summarise
from toolreel_core.evals._verdicts.verdict import Result

YES, NO, SPLIT, NONE = ("yes",) * 3, ("no",) * 3, ("yes", "no", "yes"), ("failed", "unclear", "unclear")
COUNTS = st.integers(0, 40)


def run(votes: tuple[str, ...], holds: bool, trial: int, scenario: str = "happy_path") -> Record:
    judged = JudgedCheck("polite", votes, "because", others_hold=holds)
    result: Result = "pass" if holds else "fail"
    return replace(record(result, cell(scenario=scenario), trial), judged=(judged,))


def entries(*runs: Record) -> tuple[RunEntry, ...]:
    summary = summarise(runs, {one.cell: range(1, 100) for one in runs}, ())
    return tuple(entry for each in summary.cells for entry in each.entries)


def runs_of(scenario: str = "happy_path") -> list[Record]:
    """Ten runs: the judge and the others say yes, yes in 4; yes, no in 1; no, yes in 2; no, no in 2."""
    said = [
        *[(YES, True)] * 3,
        (SPLIT, True),
        (YES, False),
        *[(NO, True)] * 2,
        *[(NO, False)] * 2,
        (NONE, True),
    ]
    return [run(votes, holds, trial, scenario) for trial, (votes, holds) in enumerate(said, 1)]


def test_a_judge_is_counted_where_it_has_an_answer() -> None:
    (one,) = agreements(entries(*runs_of()))
    table = (one.yes_and_hold, one.yes_and_fail, one.no_and_hold, one.no_and_fail)
    assert (table, one.runs, one.undecided, one.split) == ((4, 1, 2, 2), 9, 1, 2)
    assert one.raw == pytest.approx(6 / 9)
    alone = wilson(Count(6, 9))
    assert one.interval is not None
    assert alone is not None
    assert (one.interval.low, one.interval.high) == (alone.low, alone.high)
    by_chance = Fraction(5, 9) * Fraction(6, 9) + Fraction(4, 9) * Fraction(3, 9)
    assert one.kappa == pytest.approx(float((Fraction(6, 9) - by_chance) / (1 - by_chance)))


def test_of_several_scenarios_there_is_a_row_each_and_one_of_all() -> None:
    found = agreements(entries(*runs_of(), *runs_of("type_error_recovery")))
    assert [(one.scenario, one.check) for one in found] == [
        ("happy_path", "polite"),
        ("type_error_recovery", "polite"),
        ("", "all judges"),
    ]
    assert found[-1].runs == 18
    assert found[-1].interval is not None
    assert "over scenarios" in found[-1].interval.method


def test_a_judge_that_never_came_to_an_answer_has_no_agreement() -> None:
    (one,) = agreements(entries(run(NONE, True, 1)))
    assert (one.runs, one.raw, one.interval, one.kappa, one.undecided) == (0, None, None, None, 1)


def test_without_judges_there_is_nothing() -> None:
    assert agreements(entries(record())) == ()


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_kappa_is_agreement_beyond_chance(both: int, first: int, second: int, neither: int) -> None:
    kappa = cohen_kappa(both, first, second, neither)
    count = both + first + second + neither
    constant = count in {both, neither}
    assert (kappa is None) == constant
    if kappa is None:
        return
    assert -1 <= kappa <= 1
    assert (kappa == 1) == (first == second == 0)
    # It makes no difference who is the first, nor what is called yes.
    assert kappa == cohen_kappa(both, second, first, neither) == cohen_kappa(neither, first, second, both)
    independent = both * neither == first * second
    assert (kappa == 0) == independent


def test_summarize_shows_it_and_the_file_has_it(tmp_path: Path) -> None:
    plan = plan_with("vendor/model", strategies=["raw"], scenarios=["happy_path"], trials=10)
    (at,) = {sample.cell for sample in plan.samples()}
    runs = [replace(one, cell=at) for one in runs_of()]
    summary = write_summaries(Results.open(recorded(tmp_path, plan, runs)), plan)
    (judge,) = read(tmp_path / "summary.json")["figures"]["judges"]
    assert (judge["check"], judge["agreement"], judge["split_votes"]) == ("polite", pytest.approx(6 / 9), 2)
    tables = {table.title: table for table in summary_tables(summary, findings_of(summary, plan))}
    shown = tables["judges, compared with all other checks"]
    row = dict(zip(shown.head, shown.rows[0], strict=True))
    assert row == {
        "judge": "polite",
        "scenario": "happy_path",
        "runs": "9",
        "agree": "67%",
        "95%": "35.4-87.9",
        "kappa": "0.31",
        "says_yes": "5",
        "others_hold": "6",
        "split_votes": "2/10",
        "no_answer": "1",
    }
