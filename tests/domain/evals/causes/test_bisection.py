"""Bisected runs and their tallies."""

from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import canonical
from toolreel_core.evals._causes.bisection import Bisected, Bisection
from toolreel_core.evals._causes.configuration_keys import Key
from toolreel_core.evals._causes.delta_debugging import Minimal
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._verdicts.verdict import Verdict

CELL = Cell("model", "default", "raw", "best_effort", "off", "happy_path")
PASS, LOST, VOID = (
    Verdict("pass"),
    Verdict("fail", "loop.max_turns"),
    Verdict("void", "transport.timeout"),
)
A, B, C = (Key("config", (name,), canonical(1), canonical(2)) for name in ("a", "b", "c"))


def run(
    first: Verdict | None, second: Verdict | None, found: Minimal[Key] | None = None, why: str = ""
) -> Bisected:
    return Bisected("key", CELL, 1, first, second, why, (A, B, C), found)


@pytest.mark.parametrize(
    ("first", "second", "fate", "reason"),
    [
        (LOST, PASS, "turned", ""),
        (PASS, LOST, "broken", ""),
        (PASS, PASS, "won_already", ""),
        (LOST, LOST, "lost_again", ""),
        (VOID, PASS, "undecided", "it is void: transport.timeout"),
        (PASS, VOID, "undecided", "it is void: transport.timeout"),
    ],
)
def test_a_run_becomes_what_its_two_verdicts_make_of_it(
    first: Verdict, second: Verdict, fate: str, reason: str
) -> None:
    assert (run(first, second).fate, run(first, second).reason) == (fate, reason)


def test_without_a_verdict_it_is_undecided_and_says_why() -> None:
    for first, second in ((None, PASS), (PASS, None)):
        one = run(first, second, why="not recorded")
        assert (one.fate, one.reason) == ("undecided", "not recorded")
    assert run(None, None).reason == ""


def test_keys_are_counted_alone_and_together() -> None:
    runs = (
        run(LOST, PASS, Minimal((A,), (A,), smallest=True, undecided=0)),
        run(LOST, PASS, Minimal((A, B), (), smallest=True, undecided=0)),
        run(LOST, PASS, Minimal((A,), (A,), smallest=True, undecided=0)),
        run(PASS, PASS),
        run(None, PASS, why="no answer"),
        run(None, PASS, why="no answer"),
    )
    found = Bisection("raw", "production", runs)
    tallies = {str(tally.key): (tally.alone, tally.together, tally.runs) for tally in found.tallies}
    assert tallies == {"config.a": (2, 1, 3), "config.b": (0, 1, 1)}
    assert [*tallies] == ["config.a", "config.b"]
    assert [tally.partners for tally in found.tallies] == [(), (A,)]
    assert found.idle == ("config.c",)
    assert found.reasons == (("no answer", 2),)
    assert len(found.of("turned")) == 3
