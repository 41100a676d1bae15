from __future__ import annotations

import random

import pytest

from tests.evals.made import record
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core.evals import (
    ResultCounts,
    SentRequest,
    Usage,
    nearest_rank,
    reference_percentile,
    usage_of,
)

EACH = ResultCounts.of(["pass", "pass", "pass_unexercised", "fail", "unsupported", "void", "void"])


def test_rates_are_of_valid_runs_and_stand_beside_their_coverage() -> None:
    assert (EACH.runs, EACH.valid, EACH.ok) == (7, 4, 3)
    assert EACH.rate == 3 / 4
    assert EACH.coverage == 4 / 7


def test_there_is_no_rate_of_nothing() -> None:
    assert ResultCounts().rate is None
    assert ResultCounts().coverage is None
    assert ResultCounts.of(["void"]).rate is None
    assert ResultCounts.of(["void"]).coverage == 0


def test_counts_add_up() -> None:
    assert sum([EACH, EACH], start=ResultCounts()) == ResultCounts(4, 2, 2, 2, 4)


def test_a_summary_has_all_of_it() -> None:
    assert EACH.tree() == {
        "runs": 7,
        "ok": 3,
        "pass": 2,
        "pass_unexercised": 1,
        "fail": 1,
        "unsupported": 1,
        "void": 2,
        "valid": 4,
        "rate": 0.75,
        "coverage": 4 / 7,
    }


PRICED = SentRequest(1, 5, 200, prompt_tokens=100, completion_tokens=20, reasoning_tokens=7, cost=0.1)
UNPRICED = SentRequest(2, 5, 200, prompt_tokens=10, completion_tokens=2)
REFUSED = SentRequest(2, 5, 429, failure="status")


def test_all_attempts_and_requests_count() -> None:
    usage = usage_of(record(ms=(10, 20), asked=(PRICED, REFUSED)))
    assert usage == Usage(4, 3, 2, 200, 40, 14, 200_000_000, 0)
    assert usage.cost == 0.2
    assert usage.tree()["cost"] == usage.tree()["known_cost"] == 0.2


def test_a_cost_that_nobody_told_is_not_zero() -> None:
    usage = usage_of(record(asked=(PRICED, UNPRICED)))
    assert usage.cost is None
    assert usage.tree()["known_cost"] == 0.1


def test_the_order_of_sums_plays_no_part() -> None:
    chance = random.Random(7)
    usages = [
        usage_of(record(asked=(SentRequest(1, 1, 200, cost=chance.random() / 1_000),))) for _ in range(500)
    ]
    whole = sum(usages, start=Usage())
    chance.shuffle(usages)
    assert sum(usages, start=Usage()) == whole


@pytest.mark.parametrize(
    ("number", "percent", "nearest", "reference"),
    [
        (1, 50, 1, 1),
        (1, 95, 1, 1),
        (20, 50, 10, 11),
        (20, 95, 19, 20),
        (20, 100, 20, 20),
        (25, 50, 13, 13),
        (25, 95, 24, 24),
        (100, 7, 7, 8),
    ],
)
def test_the_nth_of_so_many_values(number: int, percent: int, nearest: int, reference: int) -> None:
    values = [*range(1, number + 1)]
    random.Random(7).shuffle(values)
    assert nearest_rank(values, percent) == nearest
    assert reference_percentile(values, percent) == reference


def test_of_no_values_the_one_is_none_and_the_reference_is_0() -> None:
    nothing: list[int] = []
    assert nearest_rank(nothing, 50) is None
    assert reference_percentile(nothing, 50) == 0


@pytest.mark.parametrize("percent", [0, 101, 0.95])
def test_a_percentile_is_told_in_percent(percent: int) -> None:
    told = f"percent: expected a whole number from 1 to 100, got {percent!r}"
    assert complaint(ConfigError, lambda: nearest_rank([1], percent)) == told
    assert complaint(ConfigError, lambda: reference_percentile([1], percent)) == told
