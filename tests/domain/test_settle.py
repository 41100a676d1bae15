from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from toolreel.effects import Finish
from toolreel.notes import RequestLost, RunSettled
from toolreel.outcome import (
    Completed,
    ContentFiltered,
    EmptyFinal,
    InvalidReply,
    MaxTurns,
    Outcome,
    Refused,
    Truncated,
)
from toolreel.plan import Plan
from toolreel.reply import Problem, ProblemCode, Reply
from toolreel.settle import outcome_of, settle
from toolreel.state import Settled, State, Step


def test_a_settled_run_finishes_and_says_so_last() -> None:
    state = State.idle(Plan.of(model="m", messages="hi"))
    lost = RequestLost(1, "timeout", None)
    assert settle(state, MaxTurns(3), (lost,)) == Step(
        replace(state, phase=Settled(MaxTurns(3))),
        (Finish(MaxTurns(3)),),
        (lost, RunSettled("max_turns")),
    )


def test_a_reply_without_a_problem_completes_the_run() -> None:
    assert outcome_of(Reply(content="Hello.", finish="stop")) == Completed("Hello.")


OUTCOMES: dict[ProblemCode, Outcome] = {
    "EMPTY_RESPONSE": EmptyFinal(),
    "TRUNCATED": Truncated("partial"),
    "REFUSAL": Refused("words"),
    "CONTENT_FILTER": ContentFiltered("words"),
    "PROVIDER_ERROR": InvalidReply("PROVIDER_ERROR", "words"),
    "RATE_LIMITED": InvalidReply("RATE_LIMITED", "words"),
    "INVALID_BODY": InvalidReply("INVALID_BODY", "words"),
    "NO_CHOICES": InvalidReply("NO_CHOICES", "words"),
    "NO_MESSAGE": InvalidReply("NO_MESSAGE", "words"),
}


@pytest.mark.parametrize("code", get_args(ProblemCode))
def test_each_problem_has_its_outcome(code: ProblemCode) -> None:
    assert outcome_of(Reply(content="partial", problem=Problem(code, "words"))) == OUTCOMES[code]
