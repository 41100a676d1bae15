"""What each ending of a run is judged as, under which names, and which runs are made again."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.evals_values import worked
from toolreel_core import outcomes
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Json, Tree
from toolreel_core._protocol import (
    Completed,
    FailureKind,
    Finish,
    InvalidReply,
    Outcome,
    TransportFailed,
    load_effect,
)
from toolreel_core._replies import FinishReason, ProblemCode
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
    category,
    category_of_status,
    exercise,
    harness_name_of_category,
    judge,
    outcome,
    provider_error_message,
    retry_delay_ms,
    retry_reason,
)

RIGHT = outcome("right", lambda seen: "" if "right" in seen.final else "it is not right")
KIND = outcome("kind", lambda seen: "" if "kind" in seen.final else "it is not kind")
HARD = exercise("hard", lambda seen: "" if "hard" in seen.final else "it was not hard")


def posed(*checks: Check) -> Case:
    return Case((UserMessage("hi"),), ToolSurface(), TableWorld(), checks or (RIGHT, KIND, HARD))


def seen(
    ended: Outcome, *finishes: FinishReason, tools_sent: bool = True, tools_refused: bool = False
) -> Evidence:
    """What a run shows that ended so, with a turn of each of these finishes."""
    final = ended.content if isinstance(ended, Completed) else ""
    turns = tuple(ObservedTurn(finish, (), "") for finish in finishes)
    return Evidence(ended, final, turns, TableWorld(), tools_sent, tools_refused=tools_refused)


def outcome_of(tree: Tree) -> Outcome:
    effect = load_effect({"toolreel": 1, "value": {"type": "finish", "outcome": tree}})
    assert isinstance(effect, Finish)
    return effect.outcome


@pytest.mark.parametrize(("ended", "finishes", "fields", "result", "category"), worked("verdict"))
def test_each_ending_has_one_result_and_one_category(
    ended: Tree, finishes: list[FinishReason], fields: dict[str, bool], result: Result, category: str
) -> None:
    verdict = judge(posed(), seen(outcome_of(ended), *finishes, **fields))
    assert (verdict.result, verdict.category) == (result, category)
    assert verdict.valid == (result not in {"void", "unsupported"})


def test_the_cases_are_all_categories_results_outcomes_failures_and_problems() -> None:
    rows = worked("verdict")
    assert {category.partition(":")[0] for *_, category in rows} == {*CATEGORIES, ""}
    assert {result for *_, result, _ in rows} == set(get_args(Result))
    ended = [outcome_of(tree) for tree, *_ in rows]
    assert {type(each) for each in ended} == set(get_args(Outcome))
    failures = {each.failure for each in ended if isinstance(each, TransportFailed)}
    assert failures == set(get_args(FailureKind))
    problems = {each.problem for each in ended if isinstance(each, InvalidReply)}
    assert problems == set(get_args(ProblemCode))


def test_the_control_needs_no_tools() -> None:
    control = posed(RIGHT)
    assert judge(control, seen(Completed("right"), tools_sent=False), control=True) == Verdict("pass")
    assert judge(control, seen(Completed("no"), tools_sent=False), control=True).result == "fail"


def test_all_findings_of_a_layer_are_told() -> None:
    assert judge(posed(), seen(Completed("no"))).reasons == ("it is not right", "it is not kind")
    assert judge(posed(), seen(Completed("no"), "length")).reasons == (
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
    if reason and left.get(reason):
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
    assert (
        harness_name_of_category(category_of_status(status) if category is None else category, status)
        == alias
    )


@pytest.mark.parametrize(("body", "hint"), worked("hint"))
def test_a_hint_is_provider_and_message_as_far_as_they_are_there(body: Json, hint: str) -> None:
    assert provider_error_message(body) == hint
