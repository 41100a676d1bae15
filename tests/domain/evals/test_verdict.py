"""What each ending of a run is judged as, under which names, and which runs are made again."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.evals_values import worked
from toolreel_core import outcomes
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Json
from toolreel_core._protocol import Completed, FailureKind, InvalidReply, Outcome, TransportFailed
from toolreel_core._replies import ProblemCode
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import (
    CATEGORIES,
    Case,
    Check,
    Evidence,
    ObservedTurn,
    Result,
    TableWorld,
    Verdict,
    alias_of,
    category,
    category_of_status,
    exercise,
    judge,
    outcome,
    provider_hint,
    retry_delay_ms,
    retry_reason,
)

RIGHT = outcome("right", lambda seen: "" if "right" in seen.final else "it is not right")
KIND = outcome("kind", lambda seen: "" if "kind" in seen.final else "it is not kind")
HARD = exercise("hard", lambda seen: "" if "hard" in seen.final else "it was not hard")
HAPPY = ObservedTurn("stop", (), "")


def posed(*checks: Check) -> Case:
    return Case((UserMessage("hi"),), ToolSurface(), TableWorld(), checks or (RIGHT, KIND, HARD))


def seen(
    ended: Outcome,
    *turns: ObservedTurn,
    tools_sent: bool = True,
    tools_refused: bool = False,
) -> Evidence:
    final = ended.content if isinstance(ended, Completed) else ""
    return Evidence(ended, final, turns, TableWorld(), tools_sent, tools_refused=tools_refused)


def lost(failure: FailureKind, status: int | None = None) -> TransportFailed:
    return TransportFailed(failure, status, "lost")


def status(code: int) -> TransportFailed:
    return lost("status", code)


DONE = Completed("right, kind and hard")
CUT = ObservedTurn("length", (), "")

STATUSES = {
    400: "status",
    401: "auth",
    402: "payment",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    413: "request_too_large",
    422: "unprocessable",
    429: "rate_limit",
    503: "upstream_5xx",
}
CASES: list[tuple[Evidence, Result, str]] = [
    *((seen(status(code)), "void", f"transport.{name}") for code, name in STATUSES.items()),
    (seen(InvalidReply("RATE_LIMITED", "slow down")), "void", "transport.rate_limit"),
    (seen(lost("timeout")), "void", "transport.timeout"),
    (seen(lost("connect")), "void", "transport.connection"),
    (seen(lost("broken")), "void", "transport.decode"),
    (seen(lost("too_large")), "void", "transport.decode"),
    (seen(status(418), HAPPY), "void", "transport.status"),
    (seen(InvalidReply("INVALID_BODY", "")), "void", "wire.invalid_body"),
    (seen(InvalidReply("NO_CHOICES", "")), "void", "wire.invalid_body"),
    (seen(InvalidReply("NO_MESSAGE", "")), "void", "wire.invalid_body"),
    (seen(InvalidReply("PROVIDER_ERROR", "no")), "void", "wire.provider_error"),
    (seen(outcomes.CapabilityRefused("no tools")), "unsupported", "wire.no_tool_use_endpoint"),
    (seen(DONE, tools_sent=False, tools_refused=True), "unsupported", "wire.no_tool_use_endpoint"),
    (seen(status(400), HAPPY), "fail", "wire.history_refused"),
    (seen(InvalidReply("CALL_WITHOUT_NAME", "")), "fail", "wire.malformed_call"),
    (seen(InvalidReply("UNSUPPORTED_CALL_TYPE", "")), "fail", "wire.malformed_call"),
    (seen(InvalidReply("MALFORMED_FUNCTION_CALL", "")), "fail", "wire.malformed_call"),
    (seen(outcomes.EmptyFinal()), "fail", "wire.empty_response"),
    (seen(InvalidReply("EMPTY_RESPONSE", "")), "fail", "wire.empty_response"),
    (seen(DONE, tools_sent=False), "unsupported", "loop.tools_off"),
    (seen(status(503), tools_sent=False), "unsupported", "loop.tools_off"),
    (seen(outcomes.NoToolCalls("")), "fail", "loop.no_tool_calls"),
    (seen(outcomes.ToolFailed(("a", "b"))), "fail", "loop.tool_error"),
    (seen(outcomes.MaxTurns(12)), "fail", "loop.max_turns"),
    (seen(outcomes.RepeatedCall("a", 5)), "fail", "loop.repeated_call"),
    (seen(outcomes.Truncated("")), "fail", "loop.truncated"),
    (seen(outcomes.InvalidOutput("", "no JSON")), "fail", "task.outcome:output"),
    (seen(InvalidReply("TRUNCATED", "")), "fail", "loop.truncated"),
    (seen(Completed("no"), CUT, HAPPY), "fail", "loop.truncated"),
    (seen(outcomes.Refused("I may not.")), "fail", "loop.refused"),
    (seen(InvalidReply("REFUSAL", "")), "fail", "loop.refused"),
    (seen(outcomes.ContentFiltered("")), "fail", "loop.content_filter"),
    (seen(InvalidReply("CONTENT_FILTER", "")), "fail", "loop.content_filter"),
    (seen(outcomes.ContextOverflow(9, 8, ())), "fail", "loop.context_overflow"),
    (seen(InvalidReply("CONTEXT_OVERFLOW", "")), "fail", "loop.context_overflow"),
    (seen(outcomes.BudgetSpent("cost", 0.5, 0.4)), "void", "loop.budget"),
    (seen(outcomes.ConversationSpent("cost", 0.5, 0.4)), "void", "loop.budget"),
    (seen(outcomes.CostUnknown(2, 0.4)), "void", "loop.budget"),
    (seen(outcomes.TransformFailed("no tree")), "void", "loop.transform_failed"),
    (seen(outcomes.Cancelled("enough")), "void", "loop.cancelled"),
    (seen(Completed("kind")), "fail", "task.outcome:right"),
    (seen(Completed("right")), "fail", "task.outcome:kind"),
    (seen(Completed("right, kind")), "pass_unexercised", "task.exercise:hard"),
    (seen(DONE), "pass", ""),
    (seen(DONE, CUT, HAPPY), "pass", ""),
]


@pytest.mark.parametrize(("evidence", "result", "category"), CASES, ids=lambda case: str(case)[:60])
def test_each_ending_has_one_result_and_one_category(
    evidence: Evidence, result: Result, category: str
) -> None:
    verdict = judge(posed(), evidence)
    assert (verdict.result, verdict.category) == (result, category)
    assert verdict.valid == (result not in {"void", "unsupported"})


def test_the_cases_are_all_categories_results_outcomes_failures_and_problems() -> None:
    named = {category.partition(":")[0] for _, _, category in CASES}
    assert named == {*CATEGORIES, ""}
    assert {result for _, result, _ in CASES} == set(get_args(Result))
    outcomes = [evidence.outcome for evidence, _, _ in CASES]
    assert {type(ended) for ended in outcomes} == set(get_args(Outcome))
    failures = {ended.failure for ended in outcomes if isinstance(ended, TransportFailed)}
    assert failures == set(get_args(FailureKind))
    problems = {ended.problem for ended in outcomes if isinstance(ended, InvalidReply)}
    assert problems == set(get_args(ProblemCode))


def test_the_control_needs_no_tools() -> None:
    control = posed(RIGHT)
    assert judge(control, seen(Completed("right"), tools_sent=False), control=True) == Verdict("pass")
    assert judge(control, seen(Completed("no"), tools_sent=False), control=True).result == "fail"


def test_all_findings_of_a_layer_are_told() -> None:
    assert judge(posed(), seen(Completed("no"))).reasons == ("it is not right", "it is not kind")
    assert judge(posed(), seen(Completed("no"), CUT)).reasons == (
        *("a reply was cut at the token limit", "it is not right", "it is not kind"),
    )
    assert judge(posed(), seen(InvalidReply("NO_CHOICES", ""))).reasons == ("NO_CHOICES",)
    assert judge(posed(), seen(outcomes.BudgetSpent("cost", 0.5, 0.4))).reasons == ("cost: 0.5 of 0.4",)
    unknown = judge(posed(), seen(outcomes.CostUnknown(2, 0.4)))
    assert unknown.reasons == ("the cost of 2 replies is unknown, and 0.4 is the limit",)
    whole = judge(posed(), seen(outcomes.ConversationSpent("turns", 5, 4)))
    assert whole.reasons == ("turns: 5 of 4 for the conversation",)


@pytest.mark.parametrize(("result", "category", "final", "before", "after"), worked("retries"))
def test_what_may_be_over_soon_is_tried_again_and_silence_once(
    result: Result, category: str, final: str, before: list[int] | None, after: list[int] | None
) -> None:
    left = dict(zip(("empty", "void"), before or (1, 3), strict=True))
    reason = retry_reason(Verdict(result, category), final)
    if left.get(reason):
        left[reason] -= 1
        assert [*left.values()] == after
    else:
        assert after is None


def test_waits_grow_up_to_a_minute_and_are_as_long_as_the_server_asks_for() -> None:
    assert [retry_delay_ms(n, None) for n in (1, 2, 3, 7, 8)] == [1_000, 2_000, 4_000, 60_000, 60_000]
    assert retry_delay_ms(3, 1_500) == 4_000
    assert retry_delay_ms(1, 20_000) == 20_000
    assert retry_delay_ms(1, 900_000) == 60_000


REFERENCE = {
    *("AUTH", "PAYMENT_REQUIRED", "FORBIDDEN", "NOT_FOUND", "RATE_LIMIT", "TIMEOUT", "CONNECTION_ERROR"),
    *("UPSTREAM_5XX", "DECODE_ERROR", "NO_TOOL_USE_ENDPOINT", "EMPTY_ASSISTANT_TEXT", "ASSERTION_FAILED"),
    *("NO_TOOL_CALLS", "TOOL_ERROR", "CONFLICT", "REQUEST_TOO_LARGE", "UNPROCESSABLE"),
    *("HTTP_n", "EXCEPTION"),
}


def test_every_name_of_the_reference_but_that_of_its_language_axis_stays_available() -> None:
    assert {one.alias for one in CATEGORIES.values()} == REFERENCE | {""}


def test_a_check_is_named_after_its_category() -> None:
    assert category("task.outcome:draft") is CATEGORIES["task.outcome"]
    with pytest.raises(LookupError, match=r"there is no category 'loop.max_turn'; did you mean"):
        category("loop.max_turn")


@pytest.mark.parametrize(("category", "status", "alias"), worked("alias"))
def test_a_status_has_the_references_name_and_a_category_another(
    category: str | None, status: int | None, alias: str
) -> None:
    assert alias_of(category_of_status(status) if category is None else category, status) == alias


@pytest.mark.parametrize(("body", "hint"), worked("hint"))
def test_a_hint_is_provider_and_message_as_far_as_they_are_there(body: Json, hint: str) -> None:
    assert provider_hint(body) == hint
