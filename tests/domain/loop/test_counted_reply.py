from __future__ import annotations

from dataclasses import replace

import pytest

from tests.samples import PLAN
from toolreel_core._loop import counted_reply
from toolreel_core._protocol import State, Tally
from toolreel_core._replies import Problem, Reply, Usage
from toolreel_core._settings import Price

BROKEN = Problem("MALFORMED_FUNCTION_CALL", "f(")


@pytest.mark.parametrize(
    ("reply", "counted"),
    [
        (Reply(content="Hi.", usage=Usage(3, 4, 0.5)), Tally(0, 0, 0, 0, 3, 4, 0.5, priced=1)),
        (Reply(content="Hi.", usage=Usage(3, 4, 0.0)), Tally(0, 0, 0, 0, 3, 4, priced=1)),
        (Reply(content="Hi.", usage=Usage(3, 4)), Tally(0, 0, 0, 0, 3, 4, unpriced=1)),
        (Reply(content="Hi."), Tally(unpriced=1)),
        (Reply(problem=BROKEN, usage=Usage(3)), Tally(prompt_tokens=3, unpriced=1)),
        (Reply(content="f(", problem=BROKEN), Tally(unpriced=1)),
        (Reply(problem=BROKEN), Tally()),
    ],
)
def test_a_reply_counts_with_its_cost_or_without_but_an_error_alone_does_not(
    reply: Reply, counted: Tally
) -> None:
    assert counted_reply(State.idle(PLAN), reply).tally == counted


MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(MILLION, MILLION), 10.0),
        (Usage(MILLION, MILLION, cached_tokens=MILLION), 8.5),
        (Usage(MILLION, MILLION, 0.25), 0.25),
        (Usage(MILLION, MILLION, 0.0), 0.0),
        (Usage(), None),
        (Usage(MILLION, prompt_audio_tokens=1), None),
        (Usage(MILLION, completion_audio_tokens=1), None),
    ],
)
def test_what_the_provider_reports_holds_over_the_price_and_what_no_price_is_for_is_unknown(
    usage: Usage, cost: float | None
) -> None:
    priced = replace(PLAN, price=Price(2, 8, cached_input=0.5))
    assert counted_reply(State.idle(priced), Reply(usage=usage)).tally.known_cost == cost
