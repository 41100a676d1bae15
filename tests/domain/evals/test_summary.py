from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.evals.made import CELL, cell, record
from toolreel_core.evals import (
    AcceptedVoids,
    Cell,
    Result,
    ResultCounts,
    SentRequest,
    Summary,
    Verdict,
    summarise,
)

CHAT = cell(scenario="chat_only")
OTHER = cell(strategy="production")


def first(trials: int) -> range:
    """This number of trials, from the first on."""
    return range(1, trials + 1)


PLANNED = {CELL: first(2), CHAT: first(1), OTHER: first(3)}
RECORDS = (
    record("pass", trial=1),
    record("fail", trial=2, ms=(100, 40), hint="p: no"),
    record("pass_unexercised", CHAT, 1),
    record("void", OTHER, 1, status=429, asked=()),
    record("unsupported", OTHER, 2),
)


def summed() -> Summary:
    return summarise(RECORDS, PLANNED, ["chat_only"])


def test_rows_are_tasks_in_the_order_of_the_plan_and_cells_are_their_scenarios() -> None:
    summary = summed()
    assert [[each.cell for each in task.cells] for task in summary.tasks] == [[CELL, CHAT], [OTHER]]
    assert summary.cells == tuple(each for task in summary.tasks for each in task.cells)
    assert summary.tasks[0].cell == CELL


def test_controls_are_counted_apart() -> None:
    summary = summed()
    assert summary.counts() == ResultCounts(1, 1, 1, 1, 1)
    assert summary.counts(control=True) == ResultCounts(unexercised=1)
    assert summary.counts(control=False) == ResultCounts(1, 0, 1, 1, 1)
    assert [entry.cell for entry in summary.tasks[0].entries(control=True)] == [CHAT]


def test_runs_stand_trial_by_trial_and_scenario_by_scenario() -> None:
    entries = summed().tasks[0].entries()
    assert [(entry.trial, entry.cell.scenario) for entry in entries] == [
        (1, "happy_path"),
        (1, "chat_only"),
        (2, "happy_path"),
    ]


def test_an_entry_tells_what_went_wrong() -> None:
    passed, failed = summed().tasks[0].cells[0].entries
    assert (passed.ok, passed.error) == (True, "")
    assert (failed.ok, failed.error, failed.hint) == (False, "task.outcome:draft: because", "p: no")
    assert (failed.ms, failed.last_ms, failed.attempts) == (140, 40, 2)


def test_categories_are_counted_by_name() -> None:
    assert summed().tasks[0].cells[0].categories == {"task.outcome:draft": 1}


def test_a_run_is_missing_until_it_has_ended_and_void_runs_leave_it_incomplete() -> None:
    summary = summed()
    assert summary.missing == 1
    assert not summary.complete
    assert summary.incompleteness.startswith("Incomplete (runs not made: 1, void: ")
    whole = summarise(RECORDS[:2], {CELL: first(2)}, [])
    assert (whole.complete, whole.incompleteness, whole.acceptance) == (True, "", "")
    assert not summarise(RECORDS[3:4], {OTHER: first(1)}, []).complete


def test_void_runs_that_are_accepted_leave_it_complete_as_long_as_enough_others_are_there() -> None:
    (void,) = (each for each in RECORDS if each.verdict.result == "void")
    runs, name = (*RECORDS[:2], void), void.verdict.category
    for share, covered in ((0.6, True), (0.7, False)):
        summary = summarise(runs, {CELL: first(2), OTHER: first(1)}, [], AcceptedVoids((name,), share))
        assert (summary.void, summary.accepted, summary.required_runs) == (1, 1, 3)
        assert (summary.covered, summary.complete) == (covered, covered)
        assert ("too many runs are void" in summary.incompleteness) is not covered
        assert summary.acceptance.startswith("1 of 3 runs void and accepted")
    another = summarise(runs, {CELL: first(2), OTHER: first(1)}, [], AcceptedVoids(("loop.cancelled",), 0.1))
    assert (another.accepted, another.covered, another.complete) == (0, True, False)


def test_what_the_plan_does_not_ask_for_comes_last_and_fills_no_gap() -> None:
    summary = summarise(RECORDS, {OTHER: first(2)}, [])
    assert [task.cell.strategy for task in summary.tasks] == ["production", "raw"]
    assert summarise(RECORDS[:1], {OTHER: first(2)}, []).missing == 2


@given(
    st.dictionaries(
        st.sampled_from([*PLANNED]),
        st.builds(range, st.integers(1, 3), st.integers(1, 5), st.integers(1, 2)),
        min_size=1,
    ),
    st.dictionaries(
        st.tuples(st.sampled_from([*PLANNED]), st.integers(1, 6)), st.sampled_from(["pass", "fail", "void"])
    ),
)
def test_surplus_trials_of_a_cell_hide_no_missing_ones_of_another_and_void_ones_delay_nothing(
    planned: dict[Cell, range], ran: dict[tuple[Cell, int], Result]
) -> None:
    summary = summarise([record(what, at, trial) for (at, trial), what in ran.items()], planned, [])
    asked = {(at, trial) for at, trials in planned.items() for trial in trials}
    void = sum(ran.get(each) == "void" for each in asked)
    assert (summary.missing, summary.required_runs) == (len(asked - {*ran}), len(asked))
    assert summary.complete == (asked <= {*ran} and not void)
    assert summary.void == [*ran.values()].count("void")


def test_the_order_of_the_records_plays_no_part() -> None:
    for seed in range(20):
        records = [*RECORDS]
        random.Random(seed).shuffle(records)
        assert summarise(records, PLANNED, ["chat_only"]) == summed()


def test_usage_is_of_all_runs_of_a_task() -> None:
    assert summed().tasks[0].usage.requests == 4
    assert summed().tasks[0].usage.turns == 9


def test_it_warns_where_another_model_answered_or_another_configuration_was_run() -> None:
    asked = [SentRequest(1, 1, 200, model="served", provider="A")]
    records = (record(trial=1), record(trial=2, asked=asked, digest="e"))
    summary = summarise(records, {CELL: first(2)}, [])
    assert summary.cells[0].served == ("served", "served at A")
    assert summary.cells[0].digests == ("d", "e")
    assert summary.warnings == (
        "vendor/model, raw, happy_path: not always the same model answered: served, served at A",
        "vendor/model, raw, happy_path: its runs were made under 2 configurations; run them again",
    )
    assert summed().warnings == ()
    unnamed = summarise([record(asked=[SentRequest(1, 1, 200)])], {CELL: first(1)}, [])
    assert unnamed.cells[0].served == ()


def test_it_warns_where_runs_of_a_cell_were_made_at_several_servers() -> None:
    runs = [record(trial=trial) for trial in (1, 2, 3)]
    urls = ("http://b.test", "http://a.test", "")
    placed = [
        replace(run, attempts=(replace(run.attempts[0], base_url=url),))
        for run, url in zip(runs, urls, strict=True)
    ]
    summary = summarise(placed, {CELL: first(3)}, [])
    assert summary.cells[0].servers == ("http://a.test", "http://b.test")
    assert summary.warnings == (
        "vendor/model, raw, happy_path: its runs were made at 2 servers: http://a.test, http://b.test",
    )


def test_passes_that_took_a_second_attempt_after_silence_are_counted() -> None:
    silent, lost = Verdict("fail", "wire.empty_response", ("",)), Verdict("void", "transport.timeout", ("",))
    results: tuple[Result, ...] = ("pass", "pass", "fail", "pass")
    runs = [record(result, CELL, trial) for trial, result in enumerate(results, 1)]
    firsts = (silent, lost, silent)
    tried = [
        replace(run, attempts=(replace(run.attempts[0], verdict=tried_first), *run.attempts))
        for run, tried_first in zip(runs, firsts, strict=False)
    ]
    [cell_summary] = summarise([*tried, runs[3]], {CELL: first(4)}, []).cells
    assert [entry.after_silence for entry in cell_summary.entries] == [True, False, True, False]
    assert cell_summary.ok_after_silence == 1
