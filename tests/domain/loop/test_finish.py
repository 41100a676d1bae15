from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from pyrsistent import pmap

from toolreel_core._loop import outcome_of
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ContentFiltered,
    EmptyFinal,
    InvalidReply,
    Memory,
    Outcome,
    Refused,
    State,
    Truncated,
)
from toolreel_core._replies import Problem, ProblemCode, Reply
from toolreel_core._settings import LoopConfig, ToolFailurePolicy, ToolUseMode
from toolreel_core._tools import ToolDefinition


def reached(mode: ToolUseMode, policy: ToolFailurePolicy = "fatal", **results: bool) -> State:
    """A run in which these tools were called, the last time with these results."""
    config = LoopConfig(tool_use_mode=mode, tool_failure_policy=policy)
    memory = Memory(successes=sum(results.values()), called=tuple(results), last_ok=pmap(results))
    plan = Plan.of(model="m", messages="hi", tools=[ToolDefinition.of("add")], config=config)
    return replace(State.idle(plan), memory=memory)


RELAXED = reached("relaxed")


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
    "CONTEXT_OVERFLOW": Truncated("partial"),
    "CALL_WITHOUT_NAME": InvalidReply("CALL_WITHOUT_NAME", "words"),
    "UNSUPPORTED_CALL_TYPE": InvalidReply("UNSUPPORTED_CALL_TYPE", "words"),
    "MALFORMED_FUNCTION_CALL": InvalidReply("MALFORMED_FUNCTION_CALL", "words"),
}


@pytest.mark.parametrize("code", get_args(ProblemCode))
def test_each_problem_has_its_outcome(code: ProblemCode) -> None:
    assert outcome_of(RELAXED, Reply(content="partial", problem=Problem(code, "words"))) == OUTCOMES[code]


@pytest.mark.parametrize("code", get_args(ProblemCode))
def test_a_problem_comes_before_the_judgement_of_tools(code: ProblemCode) -> None:
    problem = Problem(code, "words")
    assert outcome_of(reached("enforced"), Reply(content="partial", problem=problem)) == OUTCOMES[code]
