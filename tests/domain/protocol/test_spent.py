from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.samples import PLAN, worked
from toolreel_core._errors import CodecError, ConfigError
from toolreel_core._protocol import Spent, State, Tally, ToolReturned, dump, load_event, load_state
from toolreel_core._replies import Usage


def test_a_cost_that_is_not_given_is_unknown_and_never_zero() -> None:
    unknown, free = Spent(900, 40), Spent(900, 40, 0)
    assert (unknown.known_cost, unknown.priced, unknown.unpriced, unknown.replies) == (None, 0, 1, 1)
    assert (free.known_cost, free.priced, free.unpriced, free.replies) == (0.0, 1, 0, 1)
    assert Spent(cost=0.5, priced=3, unpriced=2).known_cost is None


@pytest.mark.parametrize(
    "wrong",
    [
        *worked("what is no number of something spent is refused", "runs-and-plans"),
        *({"cost": float("nan")}, {"cost": float("inf")}),
    ],
)
def test_what_is_no_number_of_something_spent_is_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=rf"^Spent\.{name}: expected a number of at least 0, got "):
        Spent(**wrong)


def test_what_was_spent_adds_up_and_what_is_unknown_stays_so() -> None:
    one, other = (
        Spent(10, 4, 0.5, cached_tokens=6, currency="EUR"),
        Spent(5, 1, 0.25, priced=2, currency="EUR"),
    )
    assert one.plus(other) == Spent(15, 5, 0.75, cached_tokens=6, priced=3, currency="EUR")
    assert one.plus(Spent(1)) == Spent(11, 4, 0.5, cached_tokens=6, priced=1, unpriced=1)
    assert Spent(1).plus(Spent(2)) == Spent(3, unpriced=2)
    assert one.plus(other).minus(one) == other
    assert one.plus(Spent(1)).minus(one) == Spent(1)
    assert one.minus(one) is None


def test_a_cost_in_another_currency_is_unknown() -> None:
    euros = Spent(10, 4, 0.5, priced=2, unpriced=1, currency="EUR")
    assert euros.in_currency("EUR") == euros
    assert euros.in_currency("USD") == Spent(10, 4, unpriced=3)
    assert Spent(10, 4, 0.5).in_currency("USD") == Spent(10, 4, 0.5)
    assert Spent(10, currency="EUR").in_currency("USD") == Spent(10, currency="EUR")


def test_a_tally_counts_what_tools_spent_in_its_totals_and_apart() -> None:
    own = Tally(turns=1, tool_calls=1).plus(Usage(10, 4, 0.5))
    once = own.plus(Spent(100, 40, 1.0, 50, 20, 3, 2, priced=2))
    assert once.by_tools == Spent(100, 40, 1.0, 50, 20, 3, 2, priced=2)
    assert once == Tally(1, 1, 0, 0, 110, 44, 1.5, 0, 50, 20, 3, 2, 3, 0, once.by_tools)
    assert once.known_cost == 1.5
    twice = once.plus(Spent(1))
    assert twice.known_cost is None
    assert twice.by_tools == Spent(101, 40, 1.0, 50, 20, 3, 2, priced=2, unpriced=1)
    assert twice.plus(Usage(1)).counted(turns=1).by_tools == twice.by_tools


def test_each_exchange_has_what_its_own_tools_spent() -> None:
    first = Tally().plus(Spent(100, cost=0.5))
    assert first.since(Tally()).by_tools == Spent(100, cost=0.5)
    assert first.since(first).by_tools is None
    assert first.plus(Spent(7)).since(first) == Tally(prompt_tokens=7, unpriced=1, by_tools=Spent(7))


def test_a_run_with_replies_has_spent_what_its_tally_says() -> None:
    assert Tally(turns=1).spent is None
    assert Tally().plus(Usage(10, 4)).spent == Spent(10, 4)
    tally = Tally().plus(Usage(10, 4, 0.5, 1, 2, 3, 4)).plus(Spent(5, cost=0.25))
    assert tally.spent == Spent(15, 4, 0.75, 2, 1, 3, 4, priced=2)
    assert tally.spent is not None
    assert Tally().plus(tally.spent).spent == tally.spent


def test_it_is_stored_where_it_is_set_and_nowhere_else() -> None:
    silent = ToolReturned(2, "{}")
    assert '"spent"' not in dump(silent)
    told = ToolReturned(2, "{}", spent=Spent(3, cost=1))
    assert '"spent":{"type":"spent","prompt_tokens":3,"cost":1.0,"priced":1}' in dump(told)
    assert load_event(dump(told)) == told
    assert load_event(dump(silent)) == silent
    state = State.idle(PLAN)
    assert '"by_tools"' not in dump(state)
    counted = replace(state, tally=Tally().plus(Spent(3)))
    assert load_state(dump(counted)) == counted
    with pytest.raises(CodecError, match=r"Spent\.prompt_tokens: expected a number of at least 0, got -3"):
        load_event(dump(told).replace('"prompt_tokens":3', '"prompt_tokens":-3'))
