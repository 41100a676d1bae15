"""The table of trials: a row for each run, what lacks, tallies, copies and percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from tests.evals.made import cell, record
from toolreel_core.evals import (
    Cell,
    Options,
    Record,
    SentRequest,
    Trial,
    TrialTally,
    accepted_void_runs_sentence,
    count_repeated_replies,
    incompleteness_sentence,
    percentile_as_in_harness,
    trials_of,
)

HAPPY, CHAT = cell(), cell(scenario="chat_only")
PLANNED = {HAPPY: range(1, 4), CHAT: range(1, 2)}


def options(**axes: object) -> Options:
    return Options.of({"eval": axes})


def table(
    *records: Record, planned: dict[Cell, range] | None = None, given: Options | None = None
) -> tuple[Trial, ...]:
    return trials_of(records, planned or PLANNED, ["chat_only"], given or options())


def test_rows_are_in_the_order_of_the_plan_whatever_the_order_of_the_records() -> None:
    """What a plan does not ask for has no row."""
    other = record("fail", cell(model="another"))
    records = [other, record("pass", HAPPY, 3), record("pass"), record("pass", HAPPY, 9)]
    found = table(*records)
    assert [(one.cell, one.trial, one.outcome) for one in found] == [
        *((HAPPY, 1, "pass"), (HAPPY, 2, "missing"), (HAPPY, 3, "pass"), (CHAT, 1, "missing")),
    ]
    assert [one.control for one in found] == [False] * 3 + [True]
    Random(1).shuffle(records)
    assert table(*records) == found


def test_a_run_lacks_if_it_is_missing_void_or_refused_tools_that_its_cell_was_given() -> None:
    void, refused = record("void", HAPPY, 2), record("unsupported", HAPPY, 3)
    assert [one.lacking for one in table(record(), void, refused)] == [False, True, True, True]
    assert [one.lacking for one in table(record("void"), refused)][:3] == [True, True, False]
    given = options(accept_void=["transport.rate_limit"], min_coverage=0.7)
    rows = table(record(), void, record("pass", HAPPY, 3), record("pass", CHAT), given=given)
    assert [(one.lacking, one.accepted) for one in rows] == [(False, one.trial == 2) for one in rows]
    assert incompleteness_sentence(rows, 0.7) == ""
    assert incompleteness_sentence(rows, 0.9).startswith("Incomplete: too many runs are void and accepted")
    assert accepted_void_runs_sentence(rows, given) == "1 of 4 runs void and accepted (transport.rate_limit)"
    assert accepted_void_runs_sentence(rows, options()) == ""


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([record()], "Incomplete (runs not made: 3, void: 0); `toolreel eval run` with the same plan"),
        ([record("void")], "(runs not made: 3, void: 1)"),
        ([record(), record("unsupported", HAPPY, 2)], "refused tools that other trials were given: 1"),
    ],
)
def test_what_lacks_is_told(records: Sequence[Record], told: str) -> None:
    assert told in incompleteness_sentence(table(*records), 0.9)


def test_a_row_has_what_its_record_says() -> None:
    asked = [
        SentRequest(1, 10, 200, finish="stop", prompt_tokens=7, completion_tokens=3, cost=0.5, model="m"),
        SentRequest(2, 10, 200, reasoning_tokens=2, model="m", provider="p"),
        SentRequest(2, 10, None, failure="timeout"),
    ]
    made = record("fail", ms=(100, 200), reasons=("no draft",), status=400, hint="P: no", asked=asked)
    (one, *_) = table(made)
    assert (one.turns, one.calls, one.requests, one.attempts) == (3, 2, 6, 2)
    assert (one.ms, one.last_attempt_ms) == (300, 200)
    assert (one.prompt_tokens, one.completion_tokens, one.reasoning_tokens) == (14, 6, 4)
    assert (one.cost, one.unpriced) == (1.0, 2)
    assert (one.error, one.status, one.hint) == ("task.outcome:draft: no draft", 400, "P: no")
    assert {*one.served} == {"m", "m at p"}
    assert one.after_empty_reply
    assert not one.text_calls


def test_requests_cost_what_is_reported_or_else_what_the_plan_says() -> None:
    asked = [
        SentRequest(1, 10, 200, finish="stop", prompt_tokens=2_000_000, completion_tokens=1_000_000),
        SentRequest(2, 10, 200, finish="stop", prompt_tokens=7, cost=0.5),
        SentRequest(3, 10, None, failure="timeout"),
        SentRequest(4, 10, 200, finish="error"),
    ]
    uncounted = SentRequest(5, 10, 200, finish="stop")
    priced = Options.of({"prices": {HAPPY.model: {"prompt": 1, "completion": 3}}})
    (one, *_) = table(record("pass", HAPPY, 1, asked=asked), given=priced)
    assert (one.cost, one.unpriced) == (5.5, 0)
    (one, *_) = table(record("pass", HAPPY, 1, asked=[*asked, uncounted]), given=priced)
    assert (one.cost, one.unpriced) == (5.5, 1), "a price of tokens that nobody counted is no cost"
    (one, *_) = table(record("pass", HAPPY, 1, asked=asked))
    assert (one.cost, one.unpriced) == (0.5, 2)


def test_a_tally_counts_runs_and_what_they_used() -> None:
    asked = [SentRequest(1, 10, 200, prompt_tokens=7, completion_tokens=3)]
    skipped, void = record("pass_unexercised", HAPPY, 2), record("void", HAPPY, 3)
    tally = TrialTally.of(table(record("pass", HAPPY, 1, asked=asked), skipped, void))
    counts = tally.counts()
    assert (counts["runs"], counts["ok"], counts["valid"], counts["void"]) == (3, 2, 2, 1)
    assert (counts["rate"], counts["coverage"]) == (1.0, 2 / 3)
    assert (tally.cost, tally.usage()["requests"]) == (None, 3)
    assert (tally.tokens, tally.after_silence) == (10, 0)
    nothing = TrialTally.of(())
    assert (nothing.counts()["rate"], nothing.coverage, nothing.cost) == (None, None, 0.0)


def test_copies_are_trials_that_repeat_an_earlier_one() -> None:
    runs = [record("pass", HAPPY, trial) for trial in (1, 2, 3)]
    assert count_repeated_replies(table(*runs)) == (2, 2)
    other = record("fail", HAPPY, 2, asked=[SentRequest(1, 1, 200, finish="length")])
    assert count_repeated_replies(table(runs[0], other)) == (0, 1)
    assert count_repeated_replies(table(record("pass", asked=()), record("void", HAPPY, 2))) == (0, 0)


@pytest.mark.parametrize(
    ("values", "percent", "value"),
    [(range(1, 21), 95, 20), (range(1, 21), 50, 11), ([7], 1, 7), ([], 50, 0)],
)
def test_percentiles_are_measured_values(values: Sequence[int], percent: int, value: int) -> None:
    assert percentile_as_in_harness(values, percent) == value
