from __future__ import annotations

import pytest

from toolreel_core.evals import Result, Retries, Verdict, remaining_retries, retry_delay_ms


def void(category: str) -> Verdict:
    return Verdict("void", category)


SILENT = Verdict("fail", "task.outcome:final")
PASSING = [f"transport.{name}" for name in ("rate_limit", "timeout", "connection", "upstream_5xx", "decode")]
LASTING = ["transport.auth", "transport.payment", "loop.budget"]
SETTLED: list[Result] = ["pass", "pass_unexercised", "unsupported"]


@pytest.mark.parametrize(
    ("verdict", "final", "before", "after"),
    [
        *[(void(each), "", Retries(1, 2), Retries(1, 1)) for each in PASSING],
        *[(void(each), "", Retries(1, 0), None) for each in PASSING],
        *[(void(each), "", Retries(), None) for each in LASTING],
        *[(Verdict(each), "", Retries(), None) for each in SETTLED],
        (SILENT, " \n", Retries(1, 3), Retries(0, 3)),
        (SILENT, "", Retries(0, 3), None),
        (SILENT, "No.", Retries(), None),
        (Verdict("fail", "loop.max_turns"), "", Retries(), None),
    ],
)
def test_what_may_be_over_soon_is_tried_again_and_silence_once(
    verdict: Verdict, final: str, before: Retries, after: Retries | None
) -> None:
    assert remaining_retries(verdict, final, before) == after


def test_waits_grow_up_to_a_minute_and_are_as_long_as_the_server_asks_for() -> None:
    assert [retry_delay_ms(n, None) for n in (1, 2, 3, 7, 8)] == [1_000, 2_000, 4_000, 60_000, 60_000]
    assert retry_delay_ms(3, 1_500) == 4_000
    assert retry_delay_ms(1, 20_000) == 20_000
    assert retry_delay_ms(1, 900_000) == 60_000
