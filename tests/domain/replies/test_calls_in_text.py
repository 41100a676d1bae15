from __future__ import annotations

from collections.abc import Sequence

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._replies import ArgumentError, Reply, normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface

PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
BROKEN = '<tool_call>{"name": "ping", "arguments": </tool_call>'
WEATHER = '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>'
TYPES = {"ping": {}, "add": {"n": "integer"}, "weather": {"city": "string"}}
TOOLS = ToolSurface(
    tuple(
        ToolDefinition.of(
            name, parameters={"properties": {key: {"type": kind} for key, kind in keys.items()}}
        )
        for name, keys in TYPES.items()
    )
)


def read(
    content: Json,
    reasoning: str = "",
    dialects: str = "hermes_json",
    *,
    finish: str = "stop",
    earlier: Sequence[str] = (),
    in_reasoning: bool = False,
) -> Reply:
    message: Json = {"content": content, "reasoning": reasoning}
    body: Json = {"choices": [{"message": message, "finish_reason": finish}]}
    config = LoopConfig(text_dialects=tuple(dialects.split()), dialects_in_reasoning=in_reasoning)
    return normalize_reply(body, tools=TOOLS, config=config, turn=2, earlier=earlier)


@pytest.mark.parametrize(
    ("content", "reasoning", "dialects", "code"),
    [
        ("Hi.", "why", "", None),
        ("Hi.", "why", "hermes_json", None),
        (PING, "", "", "TEXT_CALL_SUSPECTED"),
        ("So.", PING, "", "TEXT_CALL_IN_REASONING"),
        ("<function=ping>", "", "hermes_json", "TEXT_CALL_SUSPECTED"),
        (BROKEN, "", "hermes_json", "TEXT_CALL_MALFORMED"),
        (f"{BROKEN}{'x' * 300_000}", "", "hermes_json", "TEXT_CALL_TOO_LARGE"),
        (f"The last request was {WEATHER}", "", "hermes_json", "TEXT_CALL_SUSPECTED"),
        (
            "<|start|>assistant<|channel|>commentary to=browser.search <|message|>{}<|call|>x",
            "",
            "harmony",
            "TEXT_CALL_BUILTIN",
        ),
    ],
)
def test_what_is_not_read_stays_and_is_reported(
    content: str, reasoning: str, dialects: str, code: str | None
) -> None:
    reply = read(content, reasoning, dialects)
    assert (reply.calls, reply.reasoning) == ((), reasoning)
    assert reply.content == (content if code != "TEXT_CALL_BUILTIN" else "x")
    assert reply.warnings == ((code,) if code else ())


def test_what_was_cut_quoted_or_invented_is_reported() -> None:
    assert "TEXT_CALL_TRUNCATED" in read(PING[:30], finish="length").warnings
    quoted = read(PING, earlier=(f"The page says: {PING}",))
    assert (quoted.content, quoted.warnings) == (PING, ("TEXT_CALL_QUOTED",))
    invented = f"{PING}\n<tool_response>\n{{}}\n</tool_response>\nIt answered."
    assert read(invented).warnings == ("TEXT_CALL_WITH_RESULT", "TEXT_CALL_READ")


def test_reasoning_in_the_text_is_kept_apart() -> None:
    assert (read("<think>why</think>Hi.").content, read("<think>why</think>Hi.").reasoning) == ("Hi.", "why")
    assert read("<think>why</think>Hi.", "because").reasoning == "because"


def test_a_call_that_the_model_has_numbered_keeps_its_id() -> None:
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:7<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    assert [call.id for call in read(text, dialects="kimi_k2").calls] == ["functions.ping:7"]


def test_untyped_text_gets_its_types_from_the_schema_of_the_tool() -> None:
    text = "<tool_call>\n<function=add>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>"
    assert [call.arguments for call in read(text, dialects="qwen_xml").calls] == ['{"n":3}']


def test_reasoning_is_searched_where_that_is_wanted_and_there_is_nothing_else() -> None:
    reply = read("", f"I need it.\n{PING}", in_reasoning=True)
    assert [call.name for call in reply.calls] == ["ping"]
    assert (reply.content, reply.reasoning) == ("", "I need it.")
    assert read("Hi.", PING, in_reasoning=True).calls == ()
    assert read("", "Just thinking.", in_reasoning=True).reasoning == "Just thinking."


@pytest.mark.parametrize(
    ("sibling", "code", "name"),
    [
        (WEATHER.replace('"Paris"', "Rome"), "TEXT_CALL_MALFORMED", "weather"),
        (WEATHER[:-16], "TEXT_CALL_TRUNCATED", "weather"),
        ('<tool_call>{"name": "sum", "arguments": </tool_call>', "TEXT_CALL_MALFORMED", "sum"),
        ("<tool_call>{]}</tool_call>", "TEXT_CALL_MALFORMED", "unknown"),
        ('weather({"city": "Rome"})', "TEXT_CALL_SUSPECTED", "weather"),
        (
            '<tool_call>[{"name": "weather", "arguments": {}}, {"city": 1}]</tool_call>',
            "TEXT_CALL_MALFORMED",
            "weather",
        ),
    ],
)
def test_a_call_beside_another_one_that_cannot_be_read_is_told(sibling: str, code: str, name: str) -> None:
    reply = read(f"{WEATHER}\n{sibling}")
    first, *_, told = reply.calls
    assert first.original == WEATHER
    assert (told.name, told.provenance) == (name, "text:unread")
    assert isinstance(told.arguments, ArgumentError)
    assert reply.warnings == (code, "TEXT_CALL_READ")
    assert len({call.id for call in reply.calls}) == len(reply.calls)


def test_words_about_the_call_that_is_made_are_no_second_one() -> None:
    reply = read(f'I call weather with {{"city": "Paris"}} for this:\n{WEATHER}')
    assert (len(reply.calls), reply.warnings) == (1, ("TEXT_CALL_READ",))
