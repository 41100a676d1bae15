from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.text_dialects import DIALECTS, TextCall, TextCalls, text_calls

CORPUS = Path(__file__).resolve().parents[1] / "corpora" / "text-calls.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
CALLED = [case for case in CASES if case["expect"]["calls"]]
PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
ADD = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
FENCED = '```json\n{"name": "ping", "arguments": {}}\n```'


def found(content: str, *dialects: str, finish: str = "stop") -> TextCalls:
    return text_calls(content, tools=["ping", "add"], dialects=dialects or DIALECTS, finish=finish)


def names(content: str, *dialects: str, finish: str = "stop") -> list[str]:
    return [call.name for call in found(content, *dialects, finish=finish).calls]


def words(text: str) -> str:
    return " ".join(text.split())


def own(case: dict[str, Any]) -> list[str]:
    return [dialect for dialect in DIALECTS if case["enable"] == "all" or dialect in case["enable"]]


def each(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


def check(case: dict[str, Any], dialects: list[str]) -> None:
    expected = case["expect"]
    got = text_calls(case["content"], tools=case["tools"], dialects=dialects, finish=case["finish"])
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in got.calls]
    assert calls == [{"name": call["name"], "arguments": call["arguments"]} for call in expected["calls"]]
    if expected.get("verbatim"):
        assert got.content.strip() == expected["content"].strip()
    assert words(got.content) == words(expected["content"])
    assert words(got.reasoning) == words(expected.get("reasoning", ""))
    assert set(expected.get("rejected", ())) <= set(got.rejected)


@each(CASES)
def test_worked_case_with_its_own_dialects(case: dict[str, Any]) -> None:
    check(case, own(case))


@each(CASES)
def test_worked_case_with_both_dialects(case: dict[str, Any]) -> None:
    check(case, list(DIALECTS))


@each(CASES)
def test_a_text_that_was_cut_holds_the_first_of_its_calls(case: dict[str, Any]) -> None:
    for dialects in (own(case), list(DIALECTS)):
        whole = text_calls(case["content"], tools=case["tools"], dialects=dialects, finish=case["finish"])
        calls = [(call.name, call.arguments) for call in whole.calls]
        for end in range(len(case["content"])):
            cut = text_calls(
                case["content"][:end], tools=case["tools"], dialects=dialects, finish="length"
            ).calls
            assert [(call.name, call.arguments) for call in cut] == calls[: len(cut)]


@each(CALLED)
def test_no_call_is_found_where_no_dialect_is_enabled(case: dict[str, Any]) -> None:
    got = text_calls(case["content"], tools=case["tools"], dialects=[], finish="stop")
    assert got.calls == ()


def test_a_call_says_where_it_came_from() -> None:
    assert found(PING).calls == (
        TextCall("ping", found(PING).calls[0].arguments, '{"name": "ping", "arguments": {}}', "hermes_json"),
    )
    assert found(FENCED).calls[0].dialect == "json_fenced"
    assert found(FENCED).calls[0].original == '{"name": "ping", "arguments": {}}'


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": 1}', '{"a":1}'),
        ('"{\\"a\\": 1}"', '{"a":1}'),
        ("null", "{}"),
        ('""', "{}"),
        ('"null"', "{}"),
    ],
)
def test_arguments_come_as_an_object_as_text_of_one_or_not_at_all(arguments: str, read: str) -> None:
    text = f'<tool_call>{{"name": "add", "arguments": {arguments}}}</tool_call>'
    assert [call.arguments for call in found(text).calls] == [read]


@pytest.mark.parametrize(
    "payload",
    [
        '{"name": "add", "arguments": [1]}',
        '{"name": "add", "arguments": 7}',
        '{"name": "add", "arguments": "soon"}',
        '{"name": "", "arguments": {}}',
        '{"name": 7, "arguments": {}}',
        '{"arguments": {}}',
        '{"name": "add", "arguments": {"a": NaN}}',
        '{"name": "add", "arguments": ' + "[" * 90 + "]" * 90 + "}",
        '{"name": "add", "arguments": ' + "[" * 9_000 + "]" * 9_000 + "}",
        '{"name": "add", "arguments": {"a": 1',
        '{"name": "ping", "arguments": {}} and more',
    ],
)
def test_a_block_that_holds_no_call_is_rejected_and_stays_in_the_text(payload: str) -> None:
    text = f"<tool_call>{payload}</tool_call>"
    assert found(text) == TextCalls((), text, rejected=("malformed",))
    beside = found(f"{text}\n{ADD}")
    assert ([call.name for call in beside.calls], beside.rejected) == (["add"], ("malformed",))


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_block_that_breaks_off_is_rejected_as_truncated(finish: str) -> None:
    text = '<tool_call>{"name": "add", "arguments": {"a": 1'
    assert found(text, finish=finish) == TextCalls((), text, rejected=("truncated",))
    after = found(f"{PING}{text}", finish=finish)
    assert ([call.name for call in after.calls], after.content) == (["ping"], "")
    assert after.rejected == ("truncated",)


def test_a_tag_in_prose_is_prose_and_hides_no_call() -> None:
    text = "A <tool_call> opens a block."
    assert found(text) == TextCalls((), text)
    assert names(f"{text} Like so: {PING}") == ["ping"]
    assert names(f"<tool_call>weather</tool_call>{PING}") == ["ping"]


def test_a_block_that_was_never_closed_hides_no_other() -> None:
    text = f'<tool_call>{{"name": "add", "arguments": 7}} or {PING}'
    assert (names(text), found(text).rejected) == (["ping"], ("malformed",))


def test_an_opener_where_a_closer_belongs_closes() -> None:
    for text in (
        '<tool_call>{"name": "ping", "arguments": {}}<tool_call>',
        '<tool_call>{"name": "ping", "arguments": {}}\n<tool_call>\n',
    ):
        assert (names(text), found(text).content) == (["ping"], "")
    twice = '<tool_call>{"name": "ping", "arguments": {}}<tool_call>' * 2
    assert (names(twice), found(twice).content) == (["ping", "ping"], "")


@pytest.mark.parametrize(
    "quotation",
    [
        "```\n{}\n```",
        "```xml\n{}\n```",
        "````\n```\n{}\n```\n````",
        "~~~\n{}\n~~~",
        "   ```\n{}",
        "Send `{}` to call.",
        "Send ``{}`` to call.",
        "<!-- {} -->",
        "<!-- {}",
        "<tool_response>{}</tool_response>",
        "<TOOL_RESPONSE>{}</Tool_Response>",
        "<tool_response>{}",
        "<think>{}</think>",
        "<THINK>{}</Think>",
        "First. <think>{}</think> Then.",
    ],
)
def test_what_is_quoted_is_never_a_call(quotation: str) -> None:
    for call in (PING, ADD, PING.replace("tool_call", "TOOL_CALL")):
        quoted = quotation.replace("{}", call)
        assert names(quoted) == []
        assert names(f"{quoted}\n", finish="length") == []


@pytest.mark.parametrize(
    "closed",
    [
        "```\ncode\n```\n",
        "~~~\ncode\n~~~\n",
        "Some `code` and ",
        "<!-- aside -->",
        "<TOOL_RESPONSE>4</TOOL_RESPONSE>",
        "First. <think>so</THINK> ",
        "A stray ` or <think> ",
    ],
)
def test_what_follows_a_quotation_is_a_call(closed: str) -> None:
    assert names(closed + PING) == ["ping"]


def test_inline_code_whose_end_was_cut_may_be_a_quotation() -> None:
    assert names(f"Send `{PING}") == ["ping"]
    assert names(f"Send `{PING}", finish="length") == []


def test_a_mark_within_the_arguments_of_a_call_is_data() -> None:
    text = (
        '<tool_call>{"name": "add", "arguments": {"s": "```\\n<tool_call></tool_call> <!-- `"}}</tool_call>'
    )
    assert names(text + PING) == ["add", "ping"]


def test_closed_reasoning_is_told_apart_even_where_no_call_is_read() -> None:
    text = "<think>\nOne.\n</think>\n<THINK>Two.</THINK>Done."
    for dialects in (["hermes_json"], ["json_fenced"], list(DIALECTS)):
        assert found(text, *dialects) == TextCalls((), "Done.", "One.\nTwo.")


def test_reasoning_that_was_never_closed_ends_at_the_call() -> None:
    text = f"<think>\nI need {ADD} now."
    got = found(text)
    assert (names(text), got.reasoning, got.content) == (["add"], "I need", "now.")
    assert found(text, finish="length") == TextCalls((), text)


def test_reasoning_that_was_never_closed_and_leads_to_no_call_stays_text() -> None:
    assert found("<think>Hm.") == TextCalls((), "<think>Hm.")


def test_a_call_in_reasoning_does_not_run_while_the_one_behind_it_does() -> None:
    assert names(f"<think>{PING}</think><think>{PING}</think>{ADD}") == ["add"]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (FENCED, ""),
        (FENCED.replace("json", "tool_call", 1), ""),
        (f"\n{FENCED}\n\n", ""),
        (f"I ask.\n{FENCED}", "I ask."),
        (f"I ask\nat once.\n\n{FENCED}", "I ask\nat once."),
        (f"<think>Hm.</think>\n{FENCED}", ""),
    ],
)
def test_a_message_that_is_one_fence_is_a_call(text: str, content: str) -> None:
    got = found(text, "json_fenced")
    assert ([call.name for call in got.calls], got.content) == (["ping"], content)
    assert found(text, "hermes_json").calls == ()


@pytest.mark.parametrize(
    "text",
    [
        f"{FENCED}\nDone.",
        f"{FENCED}\n{FENCED}",
        f"One.\n\nTwo.\n{FENCED}",
        f"Like this: {FENCED}",
        FENCED[:-3],
        FENCED.replace("json", "python", 1),
        FENCED.replace("ping", "pong", 1),
        FENCED.replace("{}", "7"),
        FENCED.replace("{}", "{"),
        FENCED.replace("name", "tool", 1),
        FENCED.replace('"name"', '"id": 1, "name"'),
        "```json\n[]\n```",
    ],
)
def test_any_other_fence_is_text(text: str) -> None:
    assert found(text) == TextCalls((), text)


def test_a_fence_is_no_call_where_more_may_have_followed() -> None:
    assert found(FENCED, finish="length") == TextCalls((), FENCED)


def test_tags_come_before_fences() -> None:
    assert names(f"{PING}\n{FENCED}") == ["ping"]
    assert found(f"{PING}\n{FENCED}").calls[0].dialect == "hermes_json"


def test_the_rest_of_a_text_never_makes_up_another_call() -> None:
    joined = f'<tool_call> {PING} {{"name": "add", "arguments": {{}}}}'
    assert (names(joined), found(joined).content) == (["ping"], "")


def test_a_text_above_256_kib_is_left_alone() -> None:
    most = 256 * 1024
    for filling in (" ", "é"):
        size = len(filling.encode())
        text = PING + filling * ((most - len(PING)) // size)
        assert names(text) == ["ping"]
        longer = text + filling
        assert found(longer) == TextCalls((), longer, rejected=("too_large",))
        assert text_calls(longer, tools=[], dialects=[], finish="stop") == TextCalls((), longer)


QUOTES = [
    "`",
    "``",
    "```",
    "~~~\n",
    "<think>",
    "</think>",
    "<!--",
    "-->",
    "<tool_response>",
    "</tool_response>",
]
BLOCKS = [
    "<tool_call>{",
    "<tool_call>{}",
    '<tool_call>{"a":"',
    '<tool_call>{"a":[',
    "<tool_call> a",
    "</tool_call>",
]


@pytest.mark.parametrize("piece", [" \n", "a\n", "` `` ", "<tool_call>", PING, *QUOTES, *BLOCKS])
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_no_text_takes_long_to_read(piece: str, finish: str) -> None:
    text = piece * (256 * 1024 // len(piece))
    begun = perf_counter()
    found(text, finish=finish)
    assert perf_counter() - begun < 5


LOOSE = ["words", "\n", " ", "{", "}", '"', "ping", '{"name": "ping", "arguments": {}}', "<TOOL_CALL>"]
PIECES = st.sampled_from([PING, ADD, FENCED, "```json\n", "\n```", "<tool_call>", *LOOSE, *QUOTES, *BLOCKS])
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


@given(TEXTS, st.sampled_from([["hermes_json"], ["json_fenced"], list(DIALECTS)]), st.booleans())
def test_reading_the_rest_of_a_text_finds_nothing_more(text: str, dialects: list[str], cut: bool) -> None:
    finish = "length" if cut else "stop"
    got = found(text, *dialects, finish=finish)
    assert names(got.content, *dialects, finish=finish) == []
    if not got.calls:
        assert text.endswith(got.content)
        assert got.content == text or text.lstrip().lower().startswith("<think>")


WHOLE = st.sampled_from([PING, ADD, "words ", "`code` ", "\n```\ncode\n```\n", "<!-- aside -->", "\n"])


@given(st.lists(WHOLE, max_size=8).map("".join), st.data())
def test_a_cut_never_adds_a_call_or_changes_one(text: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(text)))
    cut, whole = found(text[:end], finish="length").calls, found(text).calls
    assert cut == whole[: len(cut)]
