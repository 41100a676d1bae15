from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.playbook import body_of
from toolreel.arguments import ArgumentError
from toolreel.calls import ToolCall
from toolreel.config import LoopConfig
from toolreel.jsontext import Json, JsonText, canonical
from toolreel.reply import Problem, Reply, Usage, normalize_reply
from toolreel.surface import ToolDefinition, ToolSurface

CORPUS = Path(__file__).resolve().parents[1] / "corpora" / "wire.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
TOOLS = ToolSurface((ToolDefinition.of("add"), ToolDefinition.of("ping")))
PING = ("call_a", "ping", "{}")
TAGGED = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
READS_TAGS = LoopConfig(text_dialects=("hermes_json",))


def normalized(body: bytes | Json, config: LoopConfig | None = None) -> Reply:
    return normalize_reply(body, tools=TOOLS, config=config or LoopConfig(), turn=2)


def with_message(**message: Json) -> dict[str, Json]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def seen(call: ToolCall, expected: dict[str, Any]) -> dict[str, Any]:
    """A call in the form of the corpus; any id will do where the case asks for a synthetic one."""
    found: dict[str, Any] = {"name": call.name, "id": call.id}
    if expected.get("id") == "$synthetic":
        found["id"] = "$synthetic"
    if isinstance(call.arguments, ArgumentError):
        return found | {"arguments": None, "error": call.arguments.code}
    return found | {"arguments": json.loads(call.arguments)}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_worked_case(case: dict[str, Any]) -> None:
    names = [name for name in case["tools"] if "." not in name]
    tools = ToolSurface(tuple(map(ToolDefinition.of, names)))
    body = case["raw"] if "raw" in case else json.dumps(case["body"])
    expected = case["expect"]
    reply = normalize_reply(body, tools=tools, config=LoopConfig())
    calls = expected["calls"]
    assert len(reply.calls) == len(calls)
    assert [seen(call, calls[place]) for place, call in enumerate(reply.calls)] == calls
    assert reply.content == expected["content"]
    assert reply.finish == expected["finish"]
    assert (reply.problem.code if reply.problem else None) == expected["problem"]
    assert set(expected.get("warnings", ())) <= set(reply.warnings)


def test_a_plain_answer() -> None:
    body = body_of("Hello.") | {
        "model": "served/model",
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    assert normalized(body) == Reply(
        content="Hello.", finish="stop", usage=Usage(11, 7), model="served/model"
    )


def test_a_call() -> None:
    call = ToolCall("call_a", "ping", JsonText("{}"), "{}", "structured")
    assert normalized(body_of(None, PING)) == Reply(calls=(call,), finish="tool_calls")


def test_bytes_text_and_parsed_bodies_read_alike() -> None:
    body = body_of("Grüße", PING)
    reply = normalized(body)
    assert reply.content == "Grüße"
    assert normalized(canonical(body)) == reply
    assert normalized(canonical(body).encode()) == reply


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    body = canonical(body_of("Grüße")).encode("latin-1")
    assert normalized(body).content == "Gr��e"


@pytest.mark.parametrize(
    "content", [None, "", " \n", [], [{"type": "text", "text": " "}], [{"type": "image"}]]
)
def test_null_and_blank_content_is_empty(content: Json) -> None:
    reply = normalized(body_of(content))
    assert reply.content == ""
    assert reply.problem == Problem("EMPTY_RESPONSE")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}], "Hello"),
        (["Hello", {"text": None}, {"text": "there"}, 7], "there"),
        ({"text": "Hello"}, '{"text":"Hello"}'),
        (42, "42"),
        (1.5, "1.5"),
        (True, "true"),
    ],
)
def test_content_that_is_not_text_is_read_and_reported(content: Json, text: str) -> None:
    reply = normalized(body_of(content))
    assert reply.content == text
    assert reply.warnings == ("CONTENT_NOT_STRING",)


def test_content_is_kept_byte_for_byte() -> None:
    assert normalized(body_of("  Hello.\r\n")).content == "  Hello.\r\n"


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ({"reasoning_content": "why"}, "why"),
        ({"reasoning": "why"}, "why"),
        ({"reasoning_content": "", "reasoning": "why"}, "why"),
        ({"reasoning_content": {"text": "why"}}, ""),
        ({}, ""),
    ],
)
def test_reasoning_is_found_in_either_field(message: dict[str, Json], reasoning: str) -> None:
    assert normalized(with_message(content="x", **message)).reasoning == reasoning


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
    ],
)
def test_finish_words_count_in_any_case(word: str, finish: str) -> None:
    reply = normalized(body_of("text", finish=word))
    assert reply.finish == finish
    assert reply.warnings == ()


@pytest.mark.parametrize("word", ["tool_calls", "Function_Call", "TOOL_USE"])
def test_words_for_calls_count_in_any_case(word: str) -> None:
    reply = normalized(body_of(None, PING, finish=word))
    assert (reply.finish, reply.warnings) == ("tool_calls", ())


@pytest.mark.parametrize("word", [None, 7, "", "because", ["stop"]])
def test_an_unknown_finish_word_is_reported(word: Json) -> None:
    reply = normalized({"choices": [{"message": {"content": "x"}, "finish_reason": word}]})
    assert (reply.finish, reply.warnings) == ("unknown", ("FINISH_UNKNOWN",))


@pytest.mark.parametrize("word", ["stop", "because"])
def test_calls_decide_whatever_the_finish_word_says(word: str) -> None:
    reply = normalized(body_of(None, PING, finish=word))
    assert reply.finish == "tool_calls"
    assert "FINISH_MISMATCH" in reply.warnings


def test_a_word_for_calls_without_any_call_is_mended_and_reported() -> None:
    reply = normalized(body_of("Hello.", finish="tool_calls"))
    assert (reply.content, reply.finish, reply.warnings) == ("Hello.", "stop", ("FINISH_MISMATCH",))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", Problem("INVALID_BODY", "Expecting value at line 1, column 1")),
        ("<html>", Problem("INVALID_BODY", "Expecting value at line 1, column 1")),
        ('{"choices": [', Problem("INVALID_BODY", "Expecting value at line 1, column 14")),
        ("NaN", Problem("INVALID_BODY", "NaN is not a JSON number")),
        ("[]", Problem("INVALID_BODY", "expected a JSON object, got list")),
        (None, Problem("INVALID_BODY", "expected a JSON object, got NoneType")),
        ("[" * 100_000, Problem("INVALID_BODY", "nested deeper than 128 levels")),
        (
            {"choices": float("nan")},
            Problem("INVALID_BODY", "Out of range float values are not JSON compliant"),
        ),
        ({}, Problem("NO_CHOICES", "the reply has no choices")),
        ({"choices": None}, Problem("NO_CHOICES", "the reply has no choices")),
        ({"choices": []}, Problem("NO_CHOICES", "the reply has no choices")),
        ({"choices": "one"}, Problem("NO_CHOICES", "the reply has no choices")),
        ({"choices": {"message": {}}}, Problem("NO_CHOICES", "the reply has no choices")),
        ({"choices": [None]}, Problem("NO_MESSAGE", "the first choice has no message")),
        ({"choices": [{}]}, Problem("NO_MESSAGE", "the first choice has no message")),
        ({"choices": [{"message": None}]}, Problem("NO_MESSAGE", "the first choice has no message")),
        ({"choices": [{"message": "Hello."}]}, Problem("NO_MESSAGE", "the first choice has no message")),
    ],
)
def test_a_body_without_a_message_is_a_problem(body: bytes | Json, problem: Problem) -> None:
    reply = normalized(body)
    assert reply.problem is not None
    assert reply.problem.code == problem.code
    assert reply.problem.detail.startswith(problem.detail)
    assert (reply.finish, reply.calls, reply.content) == ("error", (), "")


def test_a_parsed_body_that_nests_without_end_is_a_problem() -> None:
    body: Json = None
    for _ in range(100_000):
        body = [body]
    problem = normalized({"choices": body}).problem
    assert problem is not None
    assert problem.code == "INVALID_BODY"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        ("Overloaded.", Problem("PROVIDER_ERROR", "Overloaded.")),
        ({"message": "Overloaded.", "code": 502}, Problem("PROVIDER_ERROR", "Overloaded.", passing=True)),
        ({"message": "Down.", "code": "524"}, Problem("PROVIDER_ERROR", "Down.", passing=True)),
        ({"message": "Too slow.", "code": 408}, Problem("PROVIDER_ERROR", "Too slow.", passing=True)),
        ({"message": "Bad.", "code": 400}, Problem("PROVIDER_ERROR", "Bad.")),
        ({"message": "Odd.", "code": 600}, Problem("PROVIDER_ERROR", "Odd.")),
        ({"message": "Slow down.", "code": 429}, Problem("RATE_LIMITED", "Slow down.", passing=True)),
        ({"message": "Slow down.", "code": "429"}, Problem("RATE_LIMITED", "Slow down.", passing=True)),
        ({"code": 1234}, Problem("PROVIDER_ERROR", '{"code":1234}')),
        (["odd"], Problem("PROVIDER_ERROR", '["odd"]')),
        (7, Problem("PROVIDER_ERROR", "7")),
    ],
)
def test_an_error_object_is_a_problem_wherever_it_stands(error: Json, problem: Problem) -> None:
    beside = body_of("partial") | {"error": error}
    within: Json = {"choices": [{"message": {"content": "partial"}, "error": error}]}
    alone: Json = {"choices": [{"error": error}]}
    for body in (beside, within, alone):
        assert normalized(body) == Reply(finish="error", problem=problem)


@pytest.mark.parametrize("error", [None, "", {}, []])
def test_an_empty_error_is_none(error: Json) -> None:
    assert normalized(body_of("Hello.") | {"error": error}).problem is None


def test_of_several_choices_the_first_counts() -> None:
    body: Json = {"choices": [*_choices("one"), *_choices("two")]}
    reply = normalized(body)
    assert (reply.content, reply.warnings) == ("one", ("MULTIPLE_CHOICES",))


def _choices(content: str) -> list[Json]:
    choices = body_of(content)["choices"]
    assert isinstance(choices, list)
    return choices


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(3, 4)),
        ({"prompt_tokens": 3}, Usage(3, 0)),
        ({"cost": 0.25}, Usage(cost=0.25)),
        ({"cost": 1_000_000_000}, Usage(cost=1e9)),
        ({"cost": 1_000_000_001}, Usage()),
        ({"cost": -1}, Usage()),
        ({"cost": True}, Usage()),
        ({"cost": "1"}, Usage()),
        ({"prompt_tokens": "3", "completion_tokens": None}, Usage()),
        ({"prompt_tokens": True, "completion_tokens": 1.5}, Usage()),
        ({"prompt_tokens": -3, "completion_tokens": 2**53}, Usage()),
        ([3, 4], Usage()),
        (None, Usage()),
    ],
)
def test_usage_counts_what_can_be_counted(usage: Json, counted: Usage) -> None:
    assert repr(normalized(body_of("x") | {"usage": usage}).usage) == repr(counted)


@pytest.mark.parametrize("model", [None, 7, {"name": "m"}])
def test_a_model_that_is_not_text_was_not_said(model: Json) -> None:
    assert normalized(body_of("x") | {"model": model}).model == ""


def test_a_refusal_is_told_in_the_models_words_and_runs_nothing() -> None:
    body = with_message(content=None, refusal="I cannot.", tool_calls=[{"function": {"name": "ping"}}])
    reply = normalized(body)
    assert (reply.problem, reply.calls) == (Problem("REFUSAL", "I cannot."), ())


@pytest.mark.parametrize("refusal", [None, "", False, {"reason": "no"}])
def test_an_empty_refusal_is_none(refusal: Json) -> None:
    assert normalized(with_message(content="Hello.", refusal=refusal)).problem is None


def test_a_filtered_reply_runs_nothing() -> None:
    reply = normalized(body_of("partial", PING, finish="content_filter"))
    assert (reply.problem, reply.calls) == (Problem("CONTENT_FILTER", "partial"), ())


def test_a_reply_that_broke_off_runs_nothing() -> None:
    reply = normalized(body_of("partial", PING, finish="error"))
    assert (reply.problem, reply.calls) == (Problem("PROVIDER_ERROR", "the provider broke off"), ())


def test_a_cut_reply_says_which_arguments_were_cut() -> None:
    cut, whole = ("call_a", "add", '{"a":'), ("call_b", "ping", "{}")
    reply = normalized(body_of("text", cut, whole, finish="length"))
    assert reply.problem == Problem("TRUNCATED")
    assert reply.calls[0].arguments == ArgumentError(
        "ARGUMENTS_TRUNCATED", "Expecting value at line 1, column 6"
    )
    assert reply.calls[1].arguments == "{}"


def test_text_calls_are_read_only_where_a_dialect_is_enabled() -> None:
    assert normalized(body_of(TAGGED)).content == TAGGED
    reply = normalized(body_of(f"One moment. {TAGGED}"), READS_TAGS)
    assert reply.calls == (
        ToolCall("call_2_0", "ping", JsonText("{}"), '{"name": "ping", "arguments": {}}', "text:hermes_json"),
    )
    assert (reply.content, reply.finish) == ("One moment.", "tool_calls")
    assert reply.warnings == ("TEXT_CALL_READ",)


def test_text_is_not_read_for_calls_where_there_are_structured_ones() -> None:
    reply = normalized(body_of(TAGGED, ("call_a", "add", "{}")), READS_TAGS)
    assert [call.name for call in reply.calls] == ["add"]
    assert reply.content == TAGGED


def test_text_calls_that_are_left_alone_are_reported() -> None:
    broken = '<tool_call>{"name": "ping", "arguments": </tool_call>'
    reply = normalized(body_of(broken), READS_TAGS)
    assert (reply.calls, reply.content, reply.warnings) == ((), broken, ("TEXT_CALL_MALFORMED",))


def test_reasoning_in_the_text_is_kept_apart() -> None:
    reply = normalized(body_of("<think>why</think>\n"), READS_TAGS)
    assert (reply.reasoning, reply.content, reply.problem) == ("why", "", Problem("EMPTY_RESPONSE"))
    body = with_message(content="<think>why</think>Hello.", reasoning="because")
    assert normalized(body, READS_TAGS).reasoning == "because"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=15)
WORDS = st.sampled_from(["stop", "tool_calls", "length", "error", "content_filter", "because"])
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "id": JSON,
        "type": JSON,
        "function": JSON
        | st.fixed_dictionaries(
            {}, optional={"name": JSON | st.sampled_from(["add", "ping"]), "arguments": JSON}
        ),
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "content": JSON,
        "refusal": JSON,
        "reasoning": JSON,
        "tool_calls": JSON | CALLS | st.lists(JSON | CALLS),
        "function_call": JSON | CALLS,
    },
)
CHOICES = st.fixed_dictionaries(
    {}, optional={"message": JSON | MESSAGES, "finish_reason": JSON | WORDS, "error": JSON}
)
BODIES = JSON | st.fixed_dictionaries(
    {},
    optional={
        "choices": JSON | CHOICES | st.lists(JSON | CHOICES, min_size=1),
        "error": JSON,
        "usage": JSON | st.fixed_dictionaries({"prompt_tokens": JSON, "completion_tokens": JSON}),
        "model": JSON,
    },
)


@given(BODIES)
@example({"choices": [{"message": {"content": "\ud83d"}}]})
@example({"choices": [{"message": {"tool_calls": [{"id": 10**5000, "function": {"name": "add"}}]}}]})
def test_any_body_is_a_reply_that_holds_together(body: Json) -> None:
    for config in (LoopConfig(), LoopConfig(text_dialects=("hermes_json", "json_fenced"))):
        reply = normalized(body, config)
        assert len({call.id for call in reply.calls}) == len(reply.calls)
        assert reply.calls or reply.content or reply.problem
        assert reply.content == "" or reply.content.strip()
        assert reply.finish != "tool_calls" or reply.calls or reply.problem
        reply.content.encode()


@given(st.binary() | st.text())
def test_any_bytes_and_any_text_are_a_reply(body: bytes | str) -> None:
    assert normalized(body).problem is not None


@pytest.mark.parametrize("name", ["files_read", "files.read", "files.delete"])
def test_text_is_a_call_by_either_name_of_a_tool_even_of_a_masked_one(name: str) -> None:
    """The loop then says that it is not allowed, instead of taking the text for an answer."""
    tools = ToolSurface((ToolDefinition.of("files.read", exposed=False),), ("files.delete",))
    content = f'```json\n{{"name": "{name}", "arguments": {{}}}}\n```'
    body: Json = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    config = LoopConfig(text_dialects=("json_fenced",))
    assert [call.name for call in normalize_reply(body, tools=tools, config=config).calls] == [name]
