"""End a run: the outcome of its final reply, by ``tool_use_mode`` and ``tool_failure_policy``."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from toolreel_core._conversation import AssistantMessage
from toolreel_core._protocol import (
    Completed,
    ContentFiltered,
    EmptyFinal,
    Finish,
    InvalidReply,
    Note,
    NoToolCalls,
    Outcome,
    Refused,
    RunSettled,
    Settled,
    State,
    Step,
    ToolFailed,
    Truncated,
)
from toolreel_core._replies import Problem, Reply


def settle(state: State, outcome: Outcome, notes: tuple[Note, ...] = ()) -> Step:
    """End the run with an outcome. Leads to ``Settled``."""
    ended = replace(state, phase=Settled(outcome))
    return Step(ended, (Finish(outcome),), (*notes, RunSettled(outcome.name)))


def with_answer(state: State, reply: Reply) -> State:
    """The state with the reply's text; an empty one is not stored, since DeepSeek and Mistral reject it."""
    return state.said(AssistantMessage(reply.content, extras=reply.carry)) if reply.content else state


def outcome_of(state: State, reply: Reply) -> Outcome:
    """The outcome of a run whose last reply has no tool calls."""
    problem = reply.problem
    match problem:
        case None:
            return _outcome_of_answer(state, reply.content)
        case Problem():
            return _outcome_of_problem(problem, reply)
        case _:
            assert_never(problem)


def _outcome_of_answer(state: State, content: str) -> Outcome:
    """``Completed``, unless an enforced run called no tool or its tools failed."""
    config, memory = state.present.config, state.memory
    match config.tool_use_mode:
        case "relaxed" | "disabled":
            return Completed(content)
        case "enforced":
            if not memory.called:
                return NoToolCalls(content)
            failed = tuple(name for name in memory.called if not memory.last_ok[name])
            fatal = config.tool_failure_policy == "fatal" and failed
            return ToolFailed(failed) if fatal or not memory.successes else Completed(content)
        case _:
            assert_never(config.tool_use_mode)


def _outcome_of_problem(problem: Problem, reply: Reply) -> Outcome:
    match problem.code:
        case "EMPTY_RESPONSE":
            return EmptyFinal()
        case "TRUNCATED" | "CONTEXT_OVERFLOW":
            return Truncated(reply.content)
        case "REFUSAL":
            return Refused(problem.detail)
        case "CONTENT_FILTER":
            return ContentFiltered(problem.detail)
        case (
            "PROVIDER_ERROR"
            | "RATE_LIMITED"
            | "INVALID_BODY"
            | "NO_CHOICES"
            | "NO_MESSAGE"
            | "CALL_WITHOUT_NAME"
            | "UNSUPPORTED_CALL_TYPE"
            | "MALFORMED_FUNCTION_CALL"
        ):
            return InvalidReply(problem.code, problem.detail)
        case _:
            assert_never(problem.code)
