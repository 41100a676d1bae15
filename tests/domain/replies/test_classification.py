from __future__ import annotations

from functools import partial

import pytest

from toolreel_core._jsontext import Json, JsonText
from toolreel_core._replies import (
    ArgumentError,
    Arguments,
    Finish,
    Oddity,
    Problem,
    ProblemCode,
    ToolCall,
    Verdict,
    WarningCode,
    finish_of,
    judged,
    problem_of,
    says_what_went_wrong,
)

PING = ToolCall("call_a", "ping", JsonText("{}"), "{}")
BROKEN = ArgumentError("ARGUMENTS_INVALID_JSON", "odd")


def call(original: str, arguments: Arguments = BROKEN) -> ToolCall:
    return ToolCall("call_b", "add", arguments, original)


def judge(
    calls: tuple[ToolCall, ...] = (),
    content: str = "",
    refusal: str = "",
    oddities: tuple[Oddity, ...] = (),
    word: Json = "stop",
    **more: Json,
) -> Verdict:
    choice = {"finish_reason": word, **more}
    return judged(choice, calls=calls, content=content, refusal=refusal, oddities=oddities)


def test_an_answer_is_no_problem() -> None:
    assert judge(content="Hi.") == Verdict("stop")


def test_calls_are_no_problem() -> None:
    assert judge((PING,), word="tool_use") == Verdict("tool_calls", None, (PING,))


@pytest.mark.parametrize(
    ("word", "codes"), [("stop", ()), ("because", ("FINISH_UNKNOWN",)), (None, ("FINISH_UNKNOWN",))]
)
def test_calls_decide_whatever_the_finish_word_says(word: Json, codes: tuple[WarningCode, ...]) -> None:
    assert judge((PING,), "text", word=word) == Verdict(
        "tool_calls", None, (PING,), (*codes, "FINISH_MISMATCH")
    )


def test_a_server_that_saw_only_text_is_right_to_say_stop() -> None:
    written = ToolCall("call_a", "ping", JsonText("{}"), "{}", "text:hermes_json")
    assert judge((written,)).codes == ()


def test_a_word_for_calls_without_any_call_becomes_stop() -> None:
    assert judge(content="Hi.", word="tool_calls") == Verdict("stop", codes=("FINISH_MISMATCH",))
    assert judge(word="tool_calls") == Verdict("stop", Problem("EMPTY_RESPONSE"), codes=("FINISH_MISMATCH",))


def test_nothing_at_all_is_an_empty_response() -> None:
    assert judge() == Verdict("stop", Problem("EMPTY_RESPONSE"))
    assert judge(word=None) == Verdict("unknown", Problem("EMPTY_RESPONSE"), codes=("FINISH_UNKNOWN",))


@pytest.mark.parametrize(
    ("oddities", "code"),
    [
        (("CALL_WITHOUT_NAME",), "CALL_WITHOUT_NAME"),
        (("UNSUPPORTED_CALL_TYPE",), "UNSUPPORTED_CALL_TYPE"),
        (("UNSUPPORTED_CALL_TYPE", "CALL_WITHOUT_NAME"), "CALL_WITHOUT_NAME"),
    ],
)
def test_nothing_but_calls_that_are_none_is_a_problem(
    oddities: tuple[Oddity, ...], code: ProblemCode
) -> None:
    odd = partial(judge, oddities=oddities)
    assert odd(word="tool_calls") == Verdict("tool_calls", Problem(code))
    assert odd() == Verdict("stop", Problem(code))


def test_calls_that_are_none_beside_an_answer_are_a_problem_only_where_calls_were_meant() -> None:
    odd = partial(judge, content="Hm.", oddities=("CALL_WITHOUT_NAME",))
    assert odd() == Verdict("stop")
    assert odd(word="tool_calls").problem == Problem("CALL_WITHOUT_NAME")
    assert judge((PING,), oddities=("CALL_WITHOUT_NAME",), word="tool_calls").problem is None


@pytest.mark.parametrize(
    ("word", "finish", "problem"),
    [
        ("error", "error", Problem("PROVIDER_ERROR", "the provider broke off")),
        ("content_filter", "content_filter", Problem("CONTENT_FILTER", "par")),
        ("MALFORMED_FUNCTION_CALL", "error", Problem("MALFORMED_FUNCTION_CALL", "par")),
    ],
)
def test_a_reply_that_was_given_up_runs_nothing(word: str, finish: Finish, problem: Problem) -> None:
    assert judge((PING,), "par", word=word) == Verdict(finish, problem)


def test_a_router_may_hide_the_providers_own_word() -> None:
    hidden = judge(word="error", native_finish_reason="MALFORMED_FUNCTION_CALL")
    assert hidden == Verdict("error", Problem("MALFORMED_FUNCTION_CALL"))
    window = judge(word="length", native_finish_reason="model_context_window_exceeded")
    assert window.problem == Problem("CONTEXT_OVERFLOW")


def test_a_refusal_runs_nothing() -> None:
    assert judge((PING,), "", "No.") == Verdict("stop", Problem("REFUSAL", "No."))
    assert judge(refusal="No.", word=None).codes == ("FINISH_UNKNOWN",)


@pytest.mark.parametrize(
    ("word", "code"), [("length", "TRUNCATED"), ("model_context_window_exceeded", "CONTEXT_OVERFLOW")]
)
def test_a_cut_reply_keeps_its_finish_and_says_what_cut_it(word: str, code: ProblemCode) -> None:
    assert judge(content="Half a", word=word) == Verdict("length", Problem(code))
    assert judge((PING,), word=word) == Verdict("length", Problem(code), (PING,))


def test_a_cut_reply_says_which_arguments_were_cut() -> None:
    calls = (PING, call('{"part": pin}'), call('{"part": "pi'))
    assert [each.arguments for each in judge(calls, word="length").calls] == [
        "{}",
        BROKEN,
        ArgumentError("ARGUMENTS_TRUNCATED", "odd"),
    ]


def test_a_call_may_have_been_put_into_a_string_after_it_was_cut() -> None:
    string = ArgumentError("ARGUMENTS_NOT_OBJECT", "a string")
    calls = (call('"pin"', string), call('["pin"]', string), call('"{\\"part\\": \\"pi"', string))
    assert [each.arguments for each in judge(calls, word="length").calls] == [
        string,
        string,
        ArgumentError("ARGUMENTS_TRUNCATED", "a string"),
    ]


def test_only_the_last_call_of_a_cut_reply_may_lack_its_arguments() -> None:
    empty = call("", JsonText("{}"))
    assert [each.arguments for each in judge((empty, empty), word="length").calls] == [
        "{}",
        ArgumentError("ARGUMENTS_TRUNCATED", "there are none yet"),
    ]
    assert [each.arguments for each in judge((empty,), word="tool_calls").calls] == ["{}"]


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


@pytest.mark.parametrize("word", [None, 7, "", "because", "toolcalls", ["stop"], {"reason": "stop"}, True])
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


FILTERS = (
    "RECITATION PROHIBITED_CONTENT BLOCKLIST SPII FINISH_REASON_SAFETY guardrail_intervened content_filtered "
    "content-filter FinishReason.IMAGE_SAFETY"
)


@pytest.mark.parametrize("word", FILTERS.split())
def test_words_of_filters_are_known_as_what_they_are(word: str) -> None:
    verdict = judged({"finish_reason": word}, content="Sorry.")
    assert verdict == Verdict("content_filter", Problem("CONTENT_FILTER", "Sorry."))


@pytest.mark.parametrize("word", ["cancelled", "timeout", "aborted", "server-error"])
def test_words_of_servers_that_broke_off_are_errors(word: str) -> None:
    assert judged({"finish_reason": word}, content="So").finish == "error"


def test_a_refusal_is_one_in_every_form() -> None:
    assert judged({"finish_reason": "refusal"}, content="No.").problem == Problem("REFUSAL", "No.")


def test_the_word_of_the_provider_counts_where_that_of_the_router_says_nothing() -> None:
    choice = {"finish_reason": None, "native_finish_reason": "SPII"}
    assert judged(choice, content="So").finish == "content_filter"
