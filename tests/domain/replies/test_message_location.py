from __future__ import annotations

import pytest
from hypothesis import given

from tests.strategies import json_values
from toolreel_core._jsontext import Json
from toolreel_core._replies import FoundMessage, Problem, WarningCode, as_documented, find_message

HELLO: dict[str, Json] = {"role": "assistant", "content": "Hello."}
CHOICE: dict[str, Json] = {"message": HELLO, "finish_reason": "stop"}
NO_CHOICES = Problem("NO_CHOICES", "the reply has no choices")
NOTHING: list[Json] = [None, [], {}]
NO_MESSAGE = Problem("NO_MESSAGE", "the first choice has no message")
BAD = Problem("PROVIDER_ERROR", "Bad.")


def problem_in(tree: Json) -> Problem | None:
    return find_message(tree).problem


def test_a_documented_body_is_taken_apart() -> None:
    body: dict[str, Json] = {"choices": [CHOICE]}
    assert find_message(body) == FoundMessage(body, CHOICE, HELLO)
    assert as_documented(find_message(body)) == find_message(body)


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({"provider": {"choices": [CHOICE]}}, ["COMPLETION_NESTED"]),
        ({"result": {"choices": [CHOICE]}, "success": True}, ["COMPLETION_NESTED"]),
        ({"choices": CHOICE}, ["CHOICES_NOT_LIST"]),
        ({"choices": {"0": CHOICE}}, ["CHOICES_NOT_LIST"]),
        ({"choices": {"10": {}, "2": CHOICE}}, ["CHOICES_NOT_LIST", "MULTIPLE_CHOICES"]),
        ({"choices": None, "provider": {"choices": [CHOICE]}}, ["COMPLETION_NESTED"]),
        ({"choices": [{"message": [HELLO]}]}, ["MESSAGE_NOT_OBJECT"]),
        ({"choices": [{"message": None, "delta": HELLO}]}, ["DELTA_INSTEAD_OF_MESSAGE"]),
        ({"message": HELLO, "done_reason": "stop"}, ["TOP_LEVEL_MESSAGE"]),
        (HELLO, ["TOP_LEVEL_MESSAGE"]),
    ],
)
def test_a_message_is_found_in_other_places_too(body: Json, codes: list[WarningCode]) -> None:
    found = find_message(body)
    assert (found.message, found.problem, [*found.codes]) == (HELLO, None, codes)
    strict = as_documented(found)
    assert strict.problem in {NO_CHOICES, NO_MESSAGE}
    assert (strict.message, strict.codes) == ({}, found.codes)


@pytest.mark.parametrize(
    ("choice", "code"),
    [({"message": "Hello."}, "MESSAGE_NOT_OBJECT"), ({"text": "Hello."}, "LEGACY_TEXT_CHOICE")],
)
def test_text_is_a_message_too(choice: Json, code: WarningCode) -> None:
    found = find_message({"choices": [choice]})
    assert (found.message, found.codes) == ({"content": "Hello."}, (code,))


@pytest.mark.parametrize("key", ["finish_reason", "stop_reason", "done_reason"])
def test_a_top_level_message_has_its_finish_word_beside_it(key: str) -> None:
    assert find_message({"message": HELLO, key: "length"}).choice == {"finish_reason": "length"}
    assert find_message({"message": HELLO}).choice == {"finish_reason": None}


ANNOUNCED: Json = {"message": HELLO, "finish_reason": "tool_calls"}
CALLS: list[Json] = [{"function": {"name": name, "arguments": "{}"}} for name in ("ping", "stock")]
APART: list[Json] = [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"} for call in CALLS]


def test_the_choice_with_index_0_is_the_first_wherever_it_is() -> None:
    listed: list[Json] = [{"index": 1, "message": {"content": "Other."}}, {"index": 0, "message": HELLO}]
    assert find_message({"choices": listed}).message == HELLO


def test_calls_that_the_first_choice_announces_may_be_in_others() -> None:
    """Gateways spread one turn of Claude over several choices: a text, then a choice for each call."""
    assert find_message({"choices": [ANNOUNCED, *APART]}).message == {**HELLO, "tool_calls": CALLS}


@pytest.mark.parametrize(
    ("message", "finish"),
    [
        (HELLO, "stop"),
        ({**HELLO, "tool_calls": CALLS[:1]}, "tool_calls"),
        ({**HELLO, "function_call": {"name": "ping"}}, "tool_calls"),
    ],
)
def test_else_the_calls_of_others_are_alternatives(message: Json, finish: str) -> None:
    first: Json = {"message": message, "finish_reason": finish}
    assert find_message({"choices": [first, *APART]}).message == message
    alone: Json = {"message": HELLO, "finish_reason": "tool_calls"}
    assert find_message({"choices": [alone, {"message": "x"}, 3]}).message == HELLO


def test_of_several_choices_the_first_counts() -> None:
    found = find_message({"choices": [CHOICE, {"message": {"content": "Other."}}]})
    assert (found.message, found.codes) == (HELLO, ("MULTIPLE_CHOICES",))
    assert as_documented(found) == found


@pytest.mark.parametrize("finish", ["content_filter", "error", "length", "MALFORMED_FUNCTION_CALL"])
def test_a_choice_without_a_message_may_say_why(finish: str) -> None:
    for message in ({}, {"message": None}):
        assert problem_in({"choices": [{"finish_reason": finish, **message}]}) is None
    assert problem_in({"choices": [{"finish_reason": "stop"}]}) == NO_MESSAGE


def test_calls_may_stand_beside_no_message_at_all() -> None:
    found = find_message({"choices": [{"message": None, "tool_calls": [{"id": "call_a"}]}]})
    assert (found.message, found.problem) == ({}, None)


@pytest.mark.parametrize(
    "body", [{"choices": [{"message": {**HELLO, "error": "Bad."}}]}, {"data": {"error": "Bad."}}]
)
def test_an_error_may_stand_inside_of_message_or_envelope(body: Json) -> None:
    assert problem_in(body) == BAD


@pytest.mark.parametrize("role", ["user", "tool", "model", 7])
def test_a_role_that_is_not_the_assistants_is_reported(role: Json) -> None:
    message: Json = {"role": role, "content": "Hi."}
    assert find_message({"choices": [{"message": message}]}).codes == ("ROLE_UNEXPECTED",)


@pytest.mark.parametrize("role", [None, "assistant"])
def test_a_role_may_be_left_out(role: Json) -> None:
    assert find_message({"choices": [{"message": {"role": role, "content": "Hi."}}]}).codes == ()


@pytest.mark.parametrize(
    ("tree", "kind"), [(None, "NoneType"), ("try later", "str"), ([], "list"), ([{}], "list"), (7, "int")]
)
def test_a_body_is_an_object(tree: Json, kind: str) -> None:
    assert problem_in(tree) == Problem("INVALID_BODY", f"expected a JSON object, got {kind}")


@pytest.mark.parametrize("body", [{}, {"id": "g"}, {"choices": "one"}, {"role": "assistant"}])
def test_a_body_without_choices_says_so(body: Json) -> None:
    assert problem_in(body) == NO_CHOICES


def test_choices_that_are_null_pass() -> None:
    for nothing in NOTHING:
        found = problem_in({"choices": nothing})
        assert found == Problem("NO_CHOICES", "the reply has no choices", passing=True)


@pytest.mark.parametrize(
    "choice",
    [None, "one", {}, {"message": None}, {"message": " "}, {"message": []}, {"message": [7]}, {"text": 7}],
)
def test_a_choice_without_a_message_says_so(choice: Json) -> None:
    assert problem_in({"choices": [choice]}) == NO_MESSAGE


@pytest.mark.parametrize(
    "tree",
    [
        {"error": {"message": "Bad."}},
        [{"error": {"message": "Bad."}}],
        {"error": {"message": "Bad."}, "choices": None},
        {"error": {"message": "Bad."}, "choices": [CHOICE]},
        {"error": {"message": "Bad."}, "choices": [None]},
        {"error": {"message": "Bad."}, "provider": {"choices": [CHOICE]}},
        {"choices": [{"error": {"message": "Bad."}}]},
        {"choices": [{"error": {"message": "Bad."}, "message": HELLO}]},
        {"object": "error", "message": "Bad."},
        {"detail": "Bad."},
        {"message": "Bad."},
    ],
)
def test_an_error_is_a_problem_wherever_it_stands(tree: Json) -> None:
    assert problem_in(tree) == BAD
    assert as_documented(find_message(tree)).problem == BAD


@pytest.mark.parametrize(
    "body",
    [
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"prompt_feedback": {"block_reason": "SAFETY"}, "choices": []},
    ],
)
def test_a_prompt_that_was_blocked_is_filtered(body: Json) -> None:
    assert problem_in(body) == Problem("CONTENT_FILTER", "SAFETY")


@pytest.mark.parametrize("feedback", [None, "SAFETY", {}, {"blockReason": None}])
def test_feedback_without_a_reason_blocks_nothing(feedback: Json) -> None:
    assert problem_in({"promptFeedback": feedback}) == NO_CHOICES


@given(json_values)
def test_any_tree_has_a_message_or_a_problem(tree: Json) -> None:
    for body in (tree, {"choices": tree}, {"choices": [tree]}, {"choices": [{"message": tree}]}):
        found = find_message(body)
        assert found.problem or found.message or found.choice
