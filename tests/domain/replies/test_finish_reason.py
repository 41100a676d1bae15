from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json
from toolreel_core._replies.finish_reason import finish_of, problem_of, says_what_went_wrong


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("eos_token", "stop"),
        ("Completed", "stop"),
        ("stop_sequence", "stop"),
        ("tool_calls", "tool_calls"),
        ("Function_Call", "tool_calls"),
        ("TOOL_USE", "tool_calls"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("sensitive", "content_filter"),
        ("error", "error"),
        ("abort", "error"),
        ("Network_Error", "error"),
        ("insufficient_system_resource", "error"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "error"),
        (" stop\n", "stop"),
    ],
)
def test_finish_words_count_in_any_case(word: str, finish: str) -> None:
    assert finish_of(word) == finish


@pytest.mark.parametrize("word", [None, 7, "", "because", "tool-calls", ["stop"], {"reason": "stop"}, True])
def test_anything_else_is_unknown(word: Json) -> None:
    assert finish_of(word) == "unknown"
    assert problem_of(word) is None


def test_two_words_name_a_problem_of_their_own() -> None:
    assert problem_of("Malformed_Function_Call") == "MALFORMED_FUNCTION_CALL"
    assert problem_of("function_call_filter: MALFORMED_FUNCTION_CALL") == "MALFORMED_FUNCTION_CALL"
    assert problem_of("model_context_window_exceeded") == "CONTEXT_OVERFLOW"
    assert problem_of("length") is None


@pytest.mark.parametrize(
    ("word", "told"), [("length", True), ("SAFETY", True), ("abort", True), ("stop", False), (None, False)]
)
def test_some_words_tell_why_there_is_no_message(word: Json, told: bool) -> None:
    assert says_what_went_wrong(word) is told
