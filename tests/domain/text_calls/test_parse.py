from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.domain.text_calls.asking import ask, in_words
from tests.samples import worked
from toolreel_core._jsontext import Json, canonical
from toolreel_core._text_calls import (
    BARE,
    DIALECTS,
    MARKED,
    TextCall,
    TextCalls,
    decode_json,
    is_quoted_from_earlier,
    text_call_if_valid,
    text_calls,
    typed_value,
    unwrapped_arguments,
)

CORPORA = Path(__file__).resolve().parents[2] / "corpora"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPORA / name).read_text(encoding="utf-8").splitlines()]


def rule_cases() -> Iterator[dict[str, Any]]:
    """Cases for each rule, with expectations from the rules alone; ``rule`` names what each is about.

    C2 no calls, same text; C4 fabricated results; C5 reasoning; C7 unknown tools; C8 names; C9 arguments;
    C10 types; C11 repairs; C12 what was cut; C13 siblings; C14 quotations; C15 bare forms; C16 ids; or the
    grammar of a dialect.
    """
    schemas = json.loads((CORPORA / "text-call-rules-tools.json").read_text(encoding="utf-8"))
    for row in rows("text-call-rules.jsonl"):
        calls = [dict(zip(("name", "arguments", "id"), call, strict=False)) for call in row["calls"]]
        expect = {"content": row["text"], "verbatim": "content" not in row, **row, "calls": calls}
        yield {
            "id": f"{row['rule']}-{row['id']}",
            "content": row["text"],
            "finish": row.get("finish", "stop"),
            "enable": row["enable"].split(","),
            "tools": schemas,
            "schemas": schemas,
            "expect": expect,
        }


CASES = rows("text-calls.jsonl")
RULES = list(rule_cases())
TAKEN_BACK = {"h-only-close-think"}
"""A closer alone says only afterwards that what stands before it was reasoning."""
MOST = 256 * 1024
STRIDE = max(1, 60 // settings().max_examples)
"""Between the places where a text is cut: every other one, and all of them in `make nightly`."""
PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
FENCED = '```json\n{"name": "ping", "arguments": {}}\n```'
MODES = ("own", "marked", "everything")


def dialects_of(case: dict[str, Any], mode: str) -> list[str]:
    own = [] if case["enable"] == "all" else case["enable"]
    if mode == "everything" or (mode == "own" and not own):
        return list(DIALECTS)
    return own if mode == "own" else [*MARKED, *own]


def read(case: dict[str, Any], mode: str, content: str, finish: str) -> TextCalls:
    return text_calls(
        content,
        tools=case["tools"],
        dialects=dialects_of(case, mode),
        finish=finish,
        schemas=case.get("schemas"),
    )


def calls_in(found: TextCalls) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in found.calls]


def words(text: str) -> str:
    return " ".join(text.split())


def found(content: str, *dialects: str, finish: str = "stop") -> TextCalls:
    return text_calls(content, tools=["ping", "add"], dialects=dialects or DIALECTS, finish=finish)


each_mode = pytest.mark.parametrize("mode", MODES)


def test_the_corpus_has_a_case_of_each_dialect() -> None:
    assert (*MARKED, *BARE) == DIALECTS
    assert {case["format"] for case in CASES} - {"any"} == set(DIALECTS)


ROWS = [
    pytest.param(row, id=f"{path.stem}-{number}")
    for path in (*sorted((CORPORA / "dialects").glob("*.jsonl")), CORPORA / "texts.jsonl")
    for number, row in enumerate(rows(str(path)), 1)
]
"""Texts with what is read in them: each call as its id, if it has one, its name and its arguments."""


@pytest.mark.parametrize("row", ROWS)
def test_a_text_is_read_as_its_row_says(row: dict[str, str]) -> None:
    read = ask(row["text"], row["enable"], row["finish"])
    assert in_words(read, row["text"]) == (row["calls"], row["content"], row["rejected"]), row["test"]
    assert read.reasoning == row.get("reasoning", read.reasoning), row["test"]


@each_mode
def test_worked_cases(mode: str, subtests: pytest.Subtests) -> None:
    for case in (*CASES, *RULES):
        with subtests.test(case["id"]):
            is_read_as_expected(case, mode)


def is_read_as_expected(case: dict[str, Any], mode: str) -> None:
    expected = case["expect"]
    got = read(case, mode, case["content"], case["finish"])
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in got.calls]
    assert calls == [{"name": call["name"], "arguments": call["arguments"]} for call in expected["calls"]]
    for call, wanted in zip(got.calls, expected["calls"], strict=True):
        assert call.id == wanted.get("id", call.id)
    if expected.get("verbatim"):
        assert got.content.strip() == expected["content"].strip()
    assert words(got.content) == words(expected["content"])
    assert words(got.reasoning) == words(expected.get("reasoning", ""))
    assert set(expected.get("rejected", ())) <= set(got.rejected)
    again = read(case, mode, got.content, case["finish"])
    assert again.calls == ()
    assert "rule" in expected or words(again.content) == words(got.content)


@pytest.mark.slow
@pytest.mark.parametrize("case", RULES, ids=[case["id"] for case in RULES])
def test_of_a_text_that_was_cut_no_call_is_made_up(case: dict[str, Any]) -> None:
    if case["expect"]["id"] in TAKEN_BACK:
        pytest.skip("its calls are taken back by what follows")
    calls = calls_in(read(case, "everything", case["content"], case["finish"]))
    for end in range(len(case["content"])):
        cut = calls_in(read(case, "everything", case["content"][:end], "length"))
        assert cut == calls[: len(cut)]


@each_mode
def test_a_text_that_was_cut_holds_the_first_of_its_calls(mode: str, subtests: pytest.Subtests) -> None:
    for case in CASES:
        calls = calls_in(read(case, mode, case["content"], case["finish"]))
        with subtests.test(case["id"]):
            for end in range(0, len(case["content"]), STRIDE):
                cut = calls_in(read(case, mode, case["content"][:end], "length"))
                assert cut == calls[: len(cut)]


def test_no_call_is_found_where_no_dialect_is_enabled(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case["id"]):
            got = text_calls(case["content"], tools=case["tools"], dialects=[], finish="stop")
            assert got.calls == ()


def test_a_call_says_where_it_came_from() -> None:
    marked = TextCall("ping", canonical({}), PING, "hermes_json")
    assert found(f"So: {PING}").calls == (marked,)
    assert found(FENCED).calls == (TextCall("ping", canonical({}), FENCED, "json_fenced"),)


def test_calls_that_share_a_block_each_have_their_arguments_as_their_text() -> None:
    two = '<tool_calls>[{"name": "ping"}, {"name": "add", "arguments": {"a": 1}}]</tool_calls>'
    assert [call.original for call in found(two).calls] == ["{}", '{"a":1}']
    bare = '{"name": "ping", "arguments": {}}; {"name": "add", "arguments": {"a": 1}}'
    assert [call.original for call in found(bare).calls] == ["{}", '{"a":1}']


@pytest.mark.parametrize(
    ("text", "rejected"),
    [('{"name": "ping", "arguments": {}}', ()), (f"It says {PING}", ("quotation",))],
)
def test_a_call_that_was_there_before_is_a_quotation(text: str, rejected: tuple[str, ...]) -> None:
    for earlier, calls in ((f"Page: {text}.", 0), ("Page: nothing.", 1)):
        got = text_calls(text, tools=["ping"], dialects=DIALECTS, finish="stop", earlier=[earlier])
        assert len(got.calls) == calls
        assert calls or (got.content, got.rejected) == (text, rejected)


def test_spans_count_the_characters_of_the_whole_text() -> None:
    text = f"<think>so</think>{PING}"
    assert [(span.start, span.end) for span in found(text).spans] == [(17, len(text))]
    assert [(span.start, span.end) for span in found(f"<think>so</think>{FENCED}").spans] == [
        (17, 17 + len(FENCED))
    ]


def test_a_text_above_256_kib_is_left_alone() -> None:
    for filling in (" ", "é"):
        size = len(filling.encode())
        text = PING + filling * ((MOST - len(PING)) // size)
        assert calls_in(found(text)) == [("ping", "{}")]
        longer = text + filling
        assert found(longer) == TextCalls((), longer, rejected=("too_large",))
        assert [span.explanation for span in found(longer).spans] == [
            "rejected as too_large: more than 256 KiB of text; it was not searched"
        ]
        assert text_calls(longer, tools=[], dialects=[], finish="stop") == TextCalls((), longer)


@pytest.mark.parametrize(
    ("text", "explanation"),
    worked("every part of a text says what was made of it", "json-and-replies"),
)
def test_every_part_of_a_text_says_what_was_made_of_it(text: str, explanation: str) -> None:
    assert explanation in [span.explanation for span in found(text).spans]


@pytest.mark.parametrize(
    ("name", "value"),
    [("", 1), ("a", float("inf")), ("a", 10**5000), ("a", json.loads("[" * 200 + "]" * 200))],
    ids=range(4),
)
def test_what_cannot_be_sent_to_a_tool_is_no_call(name: str, value: Json) -> None:
    assert text_call_if_valid(name, {"a": value}, "hermes_json") is None


@pytest.mark.parametrize(
    ("text", "calls"),
    worked("a call that was made is not made again where the text reports it", "json-and-replies"),
)
def test_a_call_that_was_made_is_not_made_again_where_the_text_reports_it(text: str, calls: int) -> None:
    def made(name: str, given: Mapping[str, Json]) -> bool:
        return (name, given) == ("ping", {"n": 1})

    found = text_calls(text, tools=["ping"], dialects=MARKED, finish="stop", made=made)
    assert len(found.calls) == calls
    again = text_calls(text, tools=["ping"], dialects=MARKED, finish="stop")
    assert len(again.calls) == text.count("<tool_call>")


def test_what_was_said_before_is_known_again_inside_of_json_too() -> None:
    call = '<tool_call>{"name": "ping"}</tool_call>'
    assert is_quoted_from_earlier(call, ["Hi.", f"They write {call} there."])
    assert is_quoted_from_earlier(call, [canonical({"page": f"They write\n{call}"})])
    assert not is_quoted_from_earlier(call, ["<tool_call>", canonical({"page": call[:-1]})])
    assert not is_quoted_from_earlier(call, [])


class Indexed(tuple[str, ...]):
    """Texts of before, of which the first is never looked at."""

    __slots__ = ()

    def among(self, *words: str) -> tuple[str, ...]:
        assert words == ('say "a"', r"say \"a\"")
        return self[1:]


def test_texts_that_know_where_to_look_are_asked() -> None:
    assert is_quoted_from_earlier('say "a"', Indexed(("Hi.", r'["say \"a\""]')))
    assert not is_quoted_from_earlier('say "a"', Indexed(('say "a"', "Hi.")))


@pytest.mark.parametrize(("raw", "schema", "value"), worked("the schema says what a text is"))
def test_the_schema_says_what_a_text_is(raw: str, schema: Json, value: Json) -> None:
    assert typed_value(raw, schema) == value
    assert type(typed_value(raw, schema)) is type(value)


def test_what_is_said_to_be_json_is_read_or_stays_text() -> None:
    assert [decode_json(text) for text in ("[1]", "7", "[1", "1 2")] == [[1], 7, "[1", "1 2"]


@pytest.mark.parametrize(
    ("given", "parameters", "arguments"),
    worked("arguments in one parameter that does not exist are unwrapped", "json-and-replies"),
)
def test_arguments_in_one_parameter_that_does_not_exist_are_unwrapped(
    given: dict[str, Json], parameters: dict[str, Json], arguments: dict[str, Json]
) -> None:
    assert unwrapped_arguments(given, parameters) == arguments
