from __future__ import annotations

from toolreel_core.evals._summary.result_counts import ResultCounts

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
