from __future__ import annotations

import random
from itertools import combinations

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core.evals._statistics.tied_candidates import Ties, tied

RATES = {"raw": 0.8, "baseline": 0.85, "production": 0.9}


def test_all_are_one_set_where_nothing_separates_them() -> None:
    found = tied(RATES, [])
    assert found == Ties(("production", "baseline", "raw"), (("production", "baseline", "raw"),))
    assert found.letters == {"production": "a", "baseline": "a", "raw": "a"}


def test_a_candidate_can_be_tied_with_two_that_are_not() -> None:
    found = tied(RATES, [("raw", "production")])
    assert found.sets == (("production", "baseline"), ("baseline", "raw"))
    assert found.letters == {"production": "a", "baseline": "ab", "raw": "b"}


def test_each_is_alone_where_all_are_separated() -> None:
    found = tied(RATES, combinations(RATES, 2))
    assert found.sets == (("production",), ("baseline",), ("raw",))


def test_equals_stand_by_name_and_nobody_makes_no_set() -> None:
    assert tied({"b": 0.5, "a": 0.5}, []).names == ("a", "b")
    assert tied({}, []) == Ties((), ())


def test_where_letters_end_numbers_go_on() -> None:
    many = {f"m{number:02}": -number for number in range(54)}
    letters = tied(many, combinations(many, 2)).letters
    assert [letters[name] for name in ("m00", "m25", "m26", "m51", "m52", "m53")] == [
        *("a", "z", "A", "Z", "(53)"),
        "(54)",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_two_share_a_set_if_and_only_if_nothing_separates_them(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"m{number}" for number in range(8)]
    pairs = [*combinations(names, 2)]
    separated = chance.sample(pairs, chance.randrange(len(pairs)))
    sets = [set(one) for one in tied({name: chance.random() for name in names}, separated).sets]
    together = [pair for pair in pairs if any(set(pair) <= one for one in sets)]
    assert together == [pair for pair in pairs if pair not in separated]
    assert not any(one < other for one in sets for other in sets)


def test_a_name_that_nobody_has_is_told() -> None:
    told = complaint(ConfigError, lambda: tied(RATES, [("raw", "prodction")]))
    assert told == "there is no candidate 'prodction'; did you mean 'production'?"
