"""Ending a run: the outcome that a reply or a failure amounts to."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from toolreel.effects import Finish
from toolreel.notes import Note, RunSettled
from toolreel.outcome import (
    Completed,
    ContentFiltered,
    EmptyFinal,
    InvalidReply,
    Outcome,
    Refused,
    Truncated,
)
from toolreel.reply import Problem, Reply
from toolreel.state import Settled, State, Step

__all__ = ["outcome_of", "settle"]


def settle(state: State, outcome: Outcome, notes: tuple[Note, ...] = ()) -> Step:
    """End the run; it takes no further event."""
    ended = replace(state, phase=Settled(outcome))
    return Step(ended, (Finish(outcome),), (*notes, RunSettled(outcome.name)))


def outcome_of(reply: Reply) -> Outcome:
    """What a reply without calls means for the run."""
    match reply.problem:
        case None:
            return Completed(reply.content)
        case Problem() as problem:
            return _outcome_of_problem(problem, reply)
        case _:
            assert_never(reply.problem)


def _outcome_of_problem(problem: Problem, reply: Reply) -> Outcome:
    match problem.code:
        case "EMPTY_RESPONSE":
            return EmptyFinal()
        case "TRUNCATED":
            return Truncated(reply.content)
        case "REFUSAL":
            return Refused(problem.detail)
        case "CONTENT_FILTER":
            return ContentFiltered(problem.detail)
        case "PROVIDER_ERROR" | "RATE_LIMITED" | "INVALID_BODY" | "NO_CHOICES" | "NO_MESSAGE":
            return InvalidReply(problem.code, problem.detail)
        case _:
            assert_never(problem.code)
