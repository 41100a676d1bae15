"""Flaky cells: where trials part, correlation, and the numbers of runs."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._errors import ConfigError
from toolreel_core.evals._causes.flakiness import (
    Question,
    Trial,
    parting,
    state_of,
    within_cell_correlation,
)
from toolreel_core.evals._scenarios.evidence import ObservedCall, ObservedTurn
from toolreel_core.evals._statistics.counts import Count


def called(arguments: str = "{}", result: str = "ok", name: str = "read") -> ObservedTurn:
    return ObservedTurn("tool_calls", (ObservedCall(name, arguments, True, (), result),), "")


def said(text: str) -> ObservedTurn:
    return ObservedTurn("stop", (), text)


def trial(number: int, *turns: ObservedTurn, passed: bool = True, opening: str = "") -> Trial:
    return Trial(number, f"key{number}", passed, opening, turns)


def test_trials_part_at_the_first_turn_that_differs() -> None:
    found = parting(
        [
            trial(1, called(), called('{"a":1}'), said("Done.")),
            trial(2, called(), called('{"a": 2}'), said("Done."), passed=False),
            trial(3, called(), called('{ "a":1 }'), said("Done.")),
        ]
    )
    assert found is not None
    assert (found.turn, found.deciding) == (2, 2)
    assert [(one.what, one.passed, one.failed) for one in found.variants] == [
        ('read({"a":1})', (1, 3), ()),
        ('read({"a":2})', (), (2,)),
    ]


def test_the_deciding_turn_may_come_later_or_never() -> None:
    apart = parting(
        [
            trial(1, said("a"), said("x")),
            trial(2, said("b"), said("x")),
            trial(3, said("b"), said("y"), passed=False),
        ]
    )
    assert apart is not None
    assert (apart.turn, apart.deciding) == (1, 2)
    never = parting(
        [
            trial(1, said("a")),
            trial(2, said("b")),
            trial(3, said("b"), passed=False),
        ]
    )
    assert never is not None
    assert (never.turn, never.deciding) == (1, None)


def test_a_trial_that_ends_earlier_parts_there() -> None:
    found = parting([trial(1, called(), said("Done.")), trial(2, called(), passed=False)])
    assert found is not None
    assert (found.turn, found.deciding) == (2, 2)
    assert [one.what for one in found.variants] == ['"Done."', "no further turn"]


def test_the_same_calls_may_come_to_different_results() -> None:
    found = parting([trial(1, called(result="1")), trial(2, called(result="2"), passed=False)])
    assert found is not None
    assert [one.what for one in found.variants] == ["read({}) came to 1", "read({}) came to 2"]


def test_words_that_a_trial_draws_are_no_difference() -> None:
    one = trial(
        1, called('{"id":"ab-1"}', '{"is":"ab-1"}'), said("ab-1, x " * 40), opening="work on ab-1 now"
    )
    other = trial(
        2, called('{"id":"cd-2"}', '{"is":"cd-2"}'), said("cd-2, x " * 40), opening="work on cd-2 now"
    )
    assert parting([one, other]) is None
    longer = trial(2, *other.turns, opening="work on the cd-2 now")
    found = parting([one, longer])
    assert found is not None
    assert found.turn == 1


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=2, max_size=5), st.data())
def test_before_the_turn_all_trials_are_equal_and_every_trial_is_in_one_variant(
    told: list[list[str]], data: st.DataObject
) -> None:
    trials = [
        trial(number, *map(said, texts), passed=data.draw(st.booleans())) for number, texts in enumerate(told)
    ]
    found = parting(trials)
    if found is None:
        assert all(texts == told[0] for texts in told)
        return
    heads = [texts[: found.turn - 1] for texts in told]
    assert all(head == heads[0] for head in heads)
    assert sorted(one for each in found.variants for one in (*each.passed, *each.failed)) == [
        *range(len(told))
    ]
    assert len(found.variants) > 1


def test_correlation_is_one_for_cells_that_never_differ_and_about_none_for_chance() -> None:
    assert within_cell_correlation([Count(3, 3), Count(0, 3)]) == pytest.approx(1)
    assert within_cell_correlation([Count(3, 3), Count(3, 3)]) is None
    assert within_cell_correlation([Count(2, 3), Count(1, 1)]) is None
    random = Random(7)
    chance = [Count(sum(random.random() < 0.5 for _ in range(5)), 5) for _ in range(400)]
    assert within_cell_correlation(chance) == pytest.approx(0, abs=0.05)
    # Rates drawn from a uniform distribution: the variance of the rates is 1/12 of 1/4 of runs, so 1/3.
    drawn = [random.random() for _ in range(2_000)]
    alike = [Count(sum(random.random() < rate for _ in range(5)), 5) for rate in drawn]
    assert within_cell_correlation(alike) == pytest.approx(1 / 3, abs=0.04)


@pytest.mark.parametrize(("broken", "flaky"), [(0.05, 0.5), (0.0, 0.2), (0.2, 0.8), (0.01, 0.3)])
def test_the_planned_runs_keep_both_errors_and_one_run_fewer_does_not(broken: float, flaky: float) -> None:
    question = Question(broken, flaky)
    runs, least = question.runs
    assert _errors(runs, least, broken, flaky) == (True, True)
    assert all(_errors(runs - 1, count, broken, flaky) != (True, True) for count in range(runs + 1))


def _errors(runs: int, least: int, broken: float, flaky: float) -> tuple[bool, bool]:
    """Whether both errors are at most 5 %, by multiplying out the chances of each run."""
    shares = []
    for rate in (broken, flaky):
        chances = [1.0]
        for _ in range(runs):
            chances = [a * (1 - rate) + b * rate for a, b in zip([*chances, 0], [0, *chances], strict=True)]
        shares.append(sum(chances[least:]))
    return shares[0] <= 0.05, 1 - shares[1] <= 0.05


def test_a_cell_without_a_failure_is_sound_once_a_flaky_one_is_excluded() -> None:
    question = Question(flaky=0.3, alpha=0.2, beta=0.01)
    clean = question.clean_runs
    # To call a flaky cell broken is the second error.
    assert 0.7**clean <= 0.01 < 0.7 ** (clean - 1)
    assert state_of(Count(clean, clean), question) == "sound"
    assert state_of(Count(clean - 1, clean - 1), question) == "undecided"
    assert state_of(Count(0, clean), question) == "broken"
    assert state_of(Count(1, 2), question) == "flaky"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((0.5, 0.5), "--broken and --flaky"),
        ((-0.1, 0.5), "--broken and --flaky"),
        ((0.1, 1.0), "--broken and --flaky"),
        ((0.1, 0.5, 0.0), "--alpha: expected a share between 0 and 0.5, got 0"),
        ((0.1, 0.5, 0.1, 0.5), "--beta: expected a share between 0 and 0.5, got 0.5"),
    ],
)
def test_rates_and_errors_that_make_no_question_are_refused(values: tuple[float, ...], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Question(*values)
