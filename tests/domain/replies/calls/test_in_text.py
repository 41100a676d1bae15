from __future__ import annotations

from dataclasses import replace

import pytest

from toolreel_core._jsontext import Json, JsonText
from toolreel_core._replies import ArgumentError, Said, ToolCall, WrittenCalls

TAGGED = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
BROKEN = '<tool_call>{"name": "ping", "arguments": </tool_call>'
BLIND = WrittenCalls(("ping",))
READS_TAGS = WrittenCalls(("ping",), ("hermes_json",), turn=2)


def test_text_without_calls_is_what_it_is() -> None:
    for written in (BLIND, READS_TAGS):
        assert written.among("Hi.", "why", finish="stop") == Said("Hi.", "why")
        assert written.among("", "", finish="stop") == Said()


def test_a_call_is_only_suspected_where_no_dialect_is_enabled() -> None:
    assert BLIND.among(TAGGED, "", finish="stop") == Said(TAGGED, codes=("TEXT_CALL_SUSPECTED",))
    assert BLIND.among("", TAGGED, finish="stop") == Said("", TAGGED, codes=("TEXT_CALL_IN_REASONING",))


def test_a_call_is_read_in_an_enabled_dialect() -> None:
    call = ToolCall("call_2_0", "ping", JsonText("{}"), TAGGED, "text:hermes_json")
    assert READS_TAGS.among(f"One moment. {TAGGED}", "", finish="stop") == Said(
        "One moment.", "", (call,), ("TEXT_CALL_READ",)
    )


def test_a_call_in_another_dialect_is_suspected() -> None:
    assert READS_TAGS.among("<function=ping>", "", finish="stop").codes == ("TEXT_CALL_SUSPECTED",)


def test_a_call_that_is_left_alone_is_reported() -> None:
    assert READS_TAGS.among(BROKEN, "", finish="stop") == Said(BROKEN, codes=("TEXT_CALL_MALFORMED",))
    assert READS_TAGS.among(TAGGED[:30], "", finish="length").codes == ("TEXT_CALL_TRUNCATED",)
    assert READS_TAGS.among(f"{BROKEN}{'x' * 300_000}", "", finish="stop").codes == ("TEXT_CALL_TOO_LARGE",)


def test_reasoning_in_the_text_is_kept_apart() -> None:
    assert READS_TAGS.among("<think>why</think>\n", "", finish="stop") == Said("", "why")
    assert READS_TAGS.among("<think>why</think>Hi.", "because", finish="stop") == Said("Hi.", "because")


def test_a_call_that_the_model_has_numbered_keeps_its_id() -> None:
    kimi = WrittenCalls(("ping",), ("kimi_k2",))
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:7<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    assert [call.id for call in kimi.among(text, "", finish="stop").calls] == ["functions.ping:7"]


def test_untyped_text_gets_its_types_from_the_schema_of_the_tool() -> None:
    text = "<tool_call>\n<function=add>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>"
    typed: dict[str, Json] = {"add": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    adds = WrittenCalls(("add",), ("qwen_xml",), schemas=typed)
    assert [call.arguments for call in adds.among(text, "", finish="stop").calls] == ['{"n":3}']
    blind = replace(adds, schemas={})
    assert [call.arguments for call in blind.among(text, "", finish="stop").calls] == ['{"n":"3"}']


def test_a_call_that_stood_in_a_tool_result_is_a_quotation() -> None:
    wary = WrittenCalls(("ping",), ("hermes_json",), earlier=(f"The page says: {TAGGED}",))
    assert wary.among(TAGGED, "", finish="stop") == Said(TAGGED, codes=("TEXT_CALL_QUOTED",))


def test_a_made_up_result_is_reported() -> None:
    text = f"{TAGGED}\n<tool_response>\n{{}}\n</tool_response>\nIt answered."
    assert "TEXT_CALL_WITH_RESULT" in READS_TAGS.among(text, "", finish="stop").codes


def test_a_call_for_a_tool_of_the_models_own_is_reported() -> None:
    harmony = WrittenCalls(("ping",), ("harmony",))
    text = "<|start|>assistant<|channel|>commentary to=browser.search <|message|>{}<|call|>"
    assert harmony.among(text, "", finish="stop").codes == ("TEXT_CALL_BUILTIN",)


def test_reasoning_is_searched_where_that_is_wanted_and_there_is_nothing_else() -> None:
    searching = WrittenCalls(("ping",), ("hermes_json",), in_reasoning=True)
    said = searching.among("", f"I need it.\n{TAGGED}", finish="stop")
    assert [call.name for call in said.calls] == ["ping"]
    assert (said.content, said.reasoning) == ("", "I need it.")
    assert searching.among("Hi.", TAGGED, finish="stop").calls == ()
    assert searching.among("", "Just thinking.", finish="stop") == Said("", "Just thinking.")


SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = WrittenCalls(("weather",), ("hermes_json",), schemas={"weather": SCHEMA})
MALFORMED = "TEXT_CALL_MALFORMED"
GOOD = '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>'


@pytest.mark.parametrize(
    ("sibling", "code", "name"),
    [
        (
            '<tool_call>{"name": "weather", "arguments": {"city": Rome}}</tool_call>',
            "TEXT_CALL_MALFORMED",
            "weather",
        ),
        ('<tool_call>{"name": "weather", "arguments": {"city": "Rome"', "TEXT_CALL_TRUNCATED", "weather"),
        ('<tool_call>{"name": "sum", "arguments": </tool_call>', MALFORMED, "sum"),
        ("<tool_call>{]}</tool_call>", MALFORMED, "unknown"),
        ('weather({"city": "Rome"})', "TEXT_CALL_SUSPECTED", "weather"),
        (
            '<tool_call>[{"name": "weather", "arguments": {}}, {"city": 1}]</tool_call>',
            "TEXT_CALL_MALFORMED",
            "weather",
        ),
    ],
)
def test_a_call_beside_another_one_that_cannot_be_read_is_told(sibling: str, code: str, name: str) -> None:
    said = WEATHER.among(f"{GOOD}\n{sibling}", "", finish="stop")
    *read, told = said.calls
    assert read[0].original == GOOD
    assert (told.name, told.provenance, isinstance(told.arguments, ArgumentError)) == (
        name,
        "text:unread",
        True,
    )
    assert said.codes == (code, "TEXT_CALL_READ")
    assert len({call.id for call in said.calls}) == len(said.calls)


def test_words_about_the_call_that_is_made_are_no_second_one() -> None:
    said = WEATHER.among(f'I call weather with {{"city": "Paris"}} for this:\n{GOOD}', "", finish="stop")
    assert (len(said.calls), said.codes) == (1, ("TEXT_CALL_READ",))


def test_a_call_in_a_sentence_is_suspected() -> None:
    text = f"The last request was {GOOD}"
    assert WEATHER.among(text, "", finish="stop") == Said(text, codes=("TEXT_CALL_SUSPECTED",))
