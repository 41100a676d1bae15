from __future__ import annotations

import pytest

from tests.evals.made import CELL
from toolreel_core.evals import (
    Divergence,
    Fate,
    Pairs,
    Verdict,
    WhatIf,
    WhatIfTally,
)

PASS, FAIL = Verdict("pass"), Verdict("fail", "task.outcome:draft")
VOID = Verdict("void", "transport.rate_limit")
NUDGED = Divergence("nudge", "tells the model more")


def run(was: Verdict | None = FAIL, now: Verdict | None = None, turn: int = 0, why: str = "") -> WhatIf:
    return WhatIf("k", CELL, 1, "production", was, now, NUDGED if turn else None, turn, why)


@pytest.mark.parametrize(
    ("one", "fate"),
    [
        (run(FAIL, PASS), "recovery"),
        (run(PASS, FAIL), "loss"),
        (run(PASS, Verdict("pass_unexercised")), "unchanged"),
        (run(FAIL, turn=2), "diverged"),
        (run(FAIL, PASS, turn=2), "recovery"),
        (run(FAIL, why="not recorded"), "undecided"),
        (run(None, PASS), "undecided"),
        (run(VOID, PASS), "undecided"),
        (run(PASS, VOID), "undecided"),
    ],
)
def test_each_run_has_one_fate(one: WhatIf, fate: Fate) -> None:
    assert one.fate == fate
    assert WhatIfTally((one,)).of(fate) == (one,)


def test_only_decided_runs_are_pairs() -> None:
    tally = WhatIfTally(
        (run(FAIL, PASS), run(PASS, PASS), run(PASS, FAIL), run(), run(VOID, PASS), run(FAIL, FAIL))
    )
    assert tally.pairs == Pairs(both=1, lost=1, gained=1, neither=1)


def test_divergences_are_counted_turn_by_turn() -> None:
    tally = WhatIfTally((run(turn=3), run(turn=2), run(FAIL, PASS, turn=3), run(FAIL, FAIL)))
    assert tally.divergences == {(2, "nudge"): 1, (3, "nudge"): 2}
    assert [*tally.divergences] == [(2, "nudge"), (3, "nudge")]


def test_what_is_undecided_says_why() -> None:
    assert run(why="not recorded").reason == "not recorded"
    assert run(VOID, PASS).reason == "the recorded run is void: transport.rate_limit"
    assert run(PASS, VOID).reason == "under production it is void: transport.rate_limit"
    assert run(FAIL, turn=1).reason == ""
