from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values
from toolreel_core._jsontext import ArgumentRepairs, Json, JsonText, canonical, either
from toolreel_core._replies import (
    ERROR_WORDS,
    ArgumentError,
    ArgumentErrorCode,
    ArgumentsRead,
    Reading,
    Unreadable,
    WarningCode,
    is_cut,
    read_arguments,
    read_text,
    without_fence,
    without_tokens,
    without_tokens_behind_fence,
)


def reading(text: str, repairs: ArgumentRepairs = "safe") -> Reading | Unreadable:
    return either(read_text(text, max_depth=64, repairs=repairs))


def refused(text: str, repairs: ArgumentRepairs = "safe") -> Unreadable:
    found = reading(text, repairs)
    assert isinstance(found, Unreadable)
    return found


@pytest.mark.parametrize("repairs", ["strict", "safe", "lenient"])
@pytest.mark.parametrize(
    ("text", "tree"),
    [('{"a": 1}', {"a": 1}), (" [1] ", [1]), ('"x"', "x"), ("null", None), ("9007199254740993", 2**53 + 1)],
)
def test_strict_json_is_read_as_it_is(text: str, tree: Json, repairs: ArgumentRepairs) -> None:
    assert reading(text, repairs) == Reading(tree)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('\ufeff{"a": 1}', ["ARGUMENTS_REPAIRED"]),
        ("{'a': 1,}", ["ARGUMENTS_REPAIRED"]),
        ('```json\n{"a": 1}\n```', ["ARGUMENTS_FENCED"]),
        ('```json\n{"a": 1,}\n```', ["ARGUMENTS_FENCED", "ARGUMENTS_REPAIRED"]),
        ('{"a": 1}<|tool_call_end|>', ["ARGUMENTS_TRAILING_TEXT"]),
        ('{"a": 1}\n{"a": 1}', ["ARGUMENTS_CONCATENATED"]),
        ('```\n{"a": 1}\n```</s>', ["ARGUMENTS_TRAILING_TEXT", "ARGUMENTS_FENCED"]),
        ("{'a': 1}{'a': 1}</s>", ["ARGUMENTS_REPAIRED", "ARGUMENTS_CONCATENATED", "ARGUMENTS_TRAILING_TEXT"]),
        ('{"a": 0, "a": 1}', ["ARGUMENTS_DUPLICATE_KEYS"]),
        ("{'a': 0, 'a': 1}", ["ARGUMENTS_REPAIRED", "ARGUMENTS_DUPLICATE_KEYS"]),
        ('{"a": 0, "a": 1}</s>', ["ARGUMENTS_TRAILING_TEXT", "ARGUMENTS_DUPLICATE_KEYS"]),
    ],
)
def test_a_closed_payload_is_repaired_and_each_step_leaves_its_code(
    text: str, codes: list[WarningCode]
) -> None:
    for repairs in ("safe", "lenient"):
        assert reading(text, repairs) == Reading({"a": 1}, tuple(codes))
    if codes != ["ARGUMENTS_DUPLICATE_KEYS"]:
        assert refused(text, "strict").codes == ()


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"a": 1} // one', True),
        ('# one\n{"a": 1}', True),
        ('{"a": 1}\n/* or */\n{"a": 1}', True),
        ('{"a": 1}\n{"a": 1}', False),
        ('{"a": 1} /* cut', None),
    ],
)
def test_comments_around_objects_are_repairs_unless_they_are_cut(text: str, repaired: bool | None) -> None:
    found = reading(text)
    if repaired is None:
        assert isinstance(found, Unreadable)
    else:
        assert isinstance(found, Reading)
        assert ("ARGUMENTS_REPAIRED" in found.codes) == repaired


@pytest.mark.parametrize("text", ["1{}", "'x' 'x'", "[1,] []", '"x"{"a": 1}'])
def test_a_value_that_is_no_object_stands_alone(text: str) -> None:
    for repairs in ("safe", "lenient"):
        assert refused(text, repairs).codes == ()


@pytest.mark.parametrize("text", ["[1/**/2]", "{'a': nu/**/ll}", "1/**/2"])
def test_a_comment_joins_nothing(text: str) -> None:
    assert refused(text, "lenient").codes == ()


def test_objects_in_a_row_are_the_same_in_any_order_of_their_keys() -> None:
    text = '{"a": 1, "b": [2]}{"b": [2], "a": 1}'
    assert reading(text) == Reading({"a": 1, "b": [2]}, ("ARGUMENTS_CONCATENATED",))


def test_a_fence_around_nothing_says_nothing() -> None:
    assert reading("```json\n```") == Reading({}, ("ARGUMENTS_FENCED",))


@pytest.mark.parametrize("literal", ["None", "undefined", " None\n"])
def test_python_and_javascript_say_nothing_in_their_own_words(literal: str) -> None:
    assert reading(literal) == Reading({}, ("ARGUMENTS_PYTHON_LITERAL",))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{a: 1}", "ARGUMENTS_REPAIRED"),
        ('{"a": 1} That is all.', "ARGUMENTS_TRAILING_TEXT"),
        ('{"a": 1}}', "ARGUMENTS_TRAILING_TEXT"),
        ('{"a": 1}""', "ARGUMENTS_TRAILING_TEXT"),
    ],
)
def test_guesses_are_made_only_where_they_are_wanted(text: str, code: WarningCode) -> None:
    assert reading(text, "lenient") == Reading({"a": 1}, (code,))
    assert refused(text).codes == ()


@pytest.mark.parametrize("repairs", ["safe", "lenient"])
def test_different_objects_in_a_row_are_an_error(repairs: ArgumentRepairs) -> None:
    assert refused('{"a": 1}{"a": 2}{"a": 1}', repairs) == Unreadable(
        "3 objects in a row that are not the same", ("ARGUMENTS_CONCATENATED",)
    )
    assert isinstance(refused('{"a": 1}{"a": true}', repairs), Unreadable)


@pytest.mark.parametrize("repairs", ["safe", "lenient"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"part": pin}', "Expecting value at line 1, column 10"),
        ('Arguments: {"a": 1}', "Expecting value at line 1, column 1"),
        ('{"a": 1}{"a": ', "Extra data at line 1, column 9"),
        ('{"a": 1}{"a": 1', "Extra data at line 1, column 9"),
        ('{"a": ' + "9" * 5000 + "}", "an integer of 5000 digits is too long"),
        ("{" * 100_000, "nested deeper than 64 levels"),
        ("'{" + "[" * 100_000, "nested deeper than 64 levels"),
        ('{"a": 1,} ' + '{"a":' * 100_000, "nested deeper than 64 levels"),
    ],
)
def test_what_cannot_be_read_says_why_in_the_terms_of_the_text_that_came(
    text: str, why: str, repairs: ArgumentRepairs
) -> None:
    assert refused(text, repairs) == Unreadable(why)


@pytest.mark.parametrize("repairs", ["strict", "safe", "lenient"])
@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_an_error(number: str, repairs: ArgumentRepairs) -> None:
    assert refused(f'{{"a": {number}}}', repairs).codes == ("NON_FINITE_NUMBER",)
    if repairs != "strict":
        assert refused(f'```\n{{"a": {number}}}\n```', repairs).codes == ("NON_FINITE_NUMBER",)
        assert refused(f"{{'a': {number}}}", repairs) == Unreadable(
            "Expecting property name enclosed in double quotes at line 1, column 2", ("NON_FINITE_NUMBER",)
        )


@pytest.mark.parametrize("text", ["{'a': 5.6e", "{'a': 5e}", "{'a': 1_0e-}", "{'a': 1.e"])
def test_an_exponent_without_digits_is_not_a_number(text: str) -> None:
    """Before Python 3.11.5, a possessive group that fails keeps what it has read."""
    assert isinstance(reading(text, "lenient"), Unreadable)


@given(json_objects.filter(bool), st.sampled_from(["safe", "lenient"]), st.data())
def test_no_beginning_of_an_object_is_ever_completed(
    value: dict[str, Json], repairs: ArgumentRepairs, data: st.DataObject
) -> None:
    for text in (canonical(value), repr(value), f"```json\n{canonical(value)}"):
        closed = len(text) - 1
        assert isinstance(reading(text[: data.draw(st.integers(0, closed))], repairs), Unreadable)


@given(
    st.text() | st.text(alphabet="{}[]:,'\"\\/*#\n`None01a <|>"),
    st.sampled_from(["strict", "safe", "lenient"]),
)
def test_any_text_is_read_or_not_without_an_exception(text: str, repairs: ArgumentRepairs) -> None:
    found = reading(text, repairs)
    if isinstance(found, Reading):
        canonical(found.tree)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": 1}```', '{"a": 1}'),
        ('```{"a": 1}```', '{"a": 1}'),
        ('~~~json5\n{"a": 1}\n~~~\n', '{"a": 1}'),
        ('````json\n{"a": "```"}\n````', '{"a": "```"}'),
        ('```json\n{"a": "```"}\n```', '{"a": "```"}'),
        ('```json\n{"a": 1}', '```json\n{"a": 1}'),
        ('Here:\n```json\n{"a": 1}\n```', 'Here:\n```json\n{"a": 1}\n```'),
        ('`{"a": 1}`', '`{"a": 1}`'),
    ],
)
def test_a_fence_around_all_of_it_is_taken_off(text: str, inside: str) -> None:
    assert without_fence(text) == inside


@pytest.mark.parametrize(
    "tokens",
    [
        "<|tool_call_end|>",
        "<|im_end|>\n</s>",
        " </tool_call> ",
        "<\uff5ctool▁call▁end\uff5c>",
        "[/TOOL_CALLS]",
        "<end_of_turn>",
    ],
)
def test_control_tokens_are_nothing(tokens: str) -> None:
    assert without_tokens(tokens) == ""


@pytest.mark.parametrize("text", ["", "and more", "<|im_end|", '<a href="x">', "<|im_end|> x", "<a b>", "}"])
def test_anything_else_is_something(text: str) -> None:
    assert without_tokens(text) == text


def test_tokens_are_taken_off_behind_a_fence_only() -> None:
    assert without_tokens_behind_fence("~~~\n{}\n~~~\n<|im_end|></s>") == "~~~\n{}\n~~~"
    for text in ("", "{}</s>", "```\n{}\n```", "```\n{}\n``` and </s>"):
        assert without_tokens_behind_fence(text) == text


@pytest.mark.parametrize(
    "text", ["", " ", '{"a": "x', '{"a": 1', "[", '"', '{"a": "\\"', '```json\n{"a"', "```\n{}\n``"]
)
def test_text_that_stops_is_cut(text: str) -> None:
    assert is_cut(text)


@pytest.mark.parametrize("text", ["{}", '{"a": "["}', '{"a": pin}', "}", "x", '"{"', "```\n{}\n```"])
def test_text_that_is_closed_is_not_cut(text: str) -> None:
    assert not is_cut(text)


@given(json_values)
def test_no_json_is_cut(value: Json) -> None:
    assert not is_cut(canonical(value))


@pytest.mark.parametrize("part", ['"\\', "[", "<", "<a>", "```", "~~~\n", "[A]", " "])
def test_no_text_takes_longer_than_its_length_explains(part: str) -> None:
    """A minute of backtracking would be noticed here."""
    for step in (without_fence, without_tokens, without_tokens_behind_fence, is_cut):
        step(part * 20_000)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("<parameter=path>a</parameter>", {"path": "a"}),
        ("<parameter=path>\na\n</parameter>\n<parameter=n>1</parameter>", {"path": "a", "n": "1"}),
        ("<parameter=path>a</parameter>\n</function>\n</tool_call>", {"path": "a"}),
    ],
)
def test_arguments_in_whole_elements_are_read_as_texts(text: str, given: dict[str, str]) -> None:
    found = either(read_text(text, max_depth=64, repairs="safe"))
    assert found == Reading(given, ("ARGUMENTS_REPAIRED",))
    assert isinstance(either(read_text(text, max_depth=64, repairs="strict")), Unreadable)


@pytest.mark.parametrize(
    "text",
    [
        "<parameter=path>a",
        "<parameter=path>a</parameter",
        "<parameter=path>a</parameter> and more",
        "<parameter=path>a</parameter><parameter=path>b</parameter>",
        "<parameter=path>a</parameter> b</parameter>",
        "<parameter=path><b>a</b></parameter>",
        "<parameter=path>a</parameter><parameter=n>",
    ],
)
def test_elements_that_are_not_whole_or_hold_markup_are_no_arguments(text: str) -> None:
    assert isinstance(either(read_text(text, max_depth=64, repairs="lenient")), Unreadable)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def nested(levels: int) -> str:
    """Text of an object that nests this many levels."""
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"a":1}', '{"a":1}'),
        (' {"b": 2, "a": [1, 2]}\n', '{"b":2,"a":[1,2]}'),
        ('{"n":9007199254740993}', '{"n":9007199254740993}'),
        ('{"s":"gr\\u00fc\\u00df"}', '{"s":"grüß"}'),
        ("", "{}"),
        (" \n\t", "{}"),
        ("null", "{}"),
    ],
)
def test_text_of_an_object_is_read_and_kept(raw: str, value: str) -> None:
    assert read_arguments(raw, max_depth=64) == ArgumentsRead(JsonText(value), raw)


def test_missing_arguments_are_an_empty_object() -> None:
    assert read_arguments(None, max_depth=64) == ArgumentsRead(JsonText("{}"), "")


@pytest.mark.parametrize("raw", [{}, {"a": 1}, {"a": {"b": [None, True, 1.5, "é"]}}])
def test_an_object_that_is_not_text_is_taken_and_reported(raw: Json) -> None:
    text = canonical(raw)
    assert read_arguments(raw, max_depth=64) == ArgumentsRead(text, text, ("ARGUMENTS_NOT_STRING",))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[{}]", "a list"),
        ("true", "a boolean"),
        ("3", "a number"),
        ("3.5", "a number"),
        ('"text"', "a string"),
    ],
)
def test_any_other_json_is_no_object(text: str, found: str) -> None:
    assert read_arguments(text, max_depth=64).value == ArgumentError("ARGUMENTS_NOT_OBJECT", found)
    if found != "a string":
        unquoted = read_arguments(json.loads(text), max_depth=64)
        assert unquoted.value == ArgumentError("ARGUMENTS_NOT_OBJECT", found)
        assert unquoted.warnings == ("ARGUMENTS_NOT_STRING",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":', "Expecting value at line 1, column 6"),
        ("{'a': 1", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"a":1} and', "Extra data at line 1, column 9"),
    ],
)
def test_what_is_not_json_says_where_and_why(text: str, why: str) -> None:
    assert read_arguments(text, max_depth=64) == ArgumentsRead(
        ArgumentError("ARGUMENTS_INVALID_JSON", why), text
    )


def test_nesting_at_the_limit_is_read_and_one_more_level_is_not() -> None:
    too_deep = ArgumentError("ARGUMENTS_INVALID_JSON", "nested deeper than 5 levels")
    assert read_arguments(nested(5), max_depth=5).value == nested(5)
    assert read_arguments(nested(6), max_depth=5).value == too_deep
    assert read_arguments(json.loads(nested(5)), max_depth=5).value == nested(5)
    assert read_arguments(json.loads(nested(6)), max_depth=5).value == too_deep


def test_nesting_that_would_exhaust_the_stack_is_only_too_deep() -> None:
    assert isinstance(read_arguments("[" * 100_000, max_depth=64).value, ArgumentError)


@given(VALUES)
def test_whatever_comes_is_an_object_or_says_why_not(value: Json) -> None:
    for raw in (value, canonical(value)):
        found = read_arguments(raw, max_depth=64).value
        if isinstance(found, ArgumentError):
            assert not isinstance(value, dict)
        else:
            assert isinstance(json.loads(found), dict)
            assert canonical(json.loads(found)) == found


@given(st.text())
def test_any_text_at_all_is_read_without_an_exception(text: str) -> None:
    assert read_arguments(text, max_depth=64).original == text


@pytest.mark.parametrize(
    ("raw", "value", "warnings"),
    [
        ("[]", "{}", ["ARGUMENTS_EMPTY_LIST"]),
        ([], "{}", ["ARGUMENTS_NOT_STRING", "ARGUMENTS_EMPTY_LIST"]),
        ('"{\\"a\\": 1}"', '{"a":1}', ["ARGUMENTS_DOUBLE_ENCODED"]),
        ('"\\"{}\\""', "{}", ["ARGUMENTS_DOUBLE_ENCODED"]),
        ('""', "{}", ["ARGUMENTS_DOUBLE_ENCODED"]),
        ("\"{'a': 1}\"", '{"a":1}', ["ARGUMENTS_DOUBLE_ENCODED", "ARGUMENTS_REPAIRED"]),
        ("{'a': 1,}", '{"a":1}', ["ARGUMENTS_REPAIRED"]),
        ("None", "{}", ["ARGUMENTS_PYTHON_LITERAL"]),
        ('{"a":1,"a":2}', '{"a":2}', ["ARGUMENTS_DUPLICATE_KEYS"]),
        ('{"a":"x \\ud83d"}', '{"a":"x \ufffd"}', ["LONE_SURROGATE"]),
        ('{"a":"\\ud83d\\ude00"}', '{"a":"😀"}', []),
        (json.dumps('{"a":"x \\ud83d"}'), '{"a":"x �"}', ["ARGUMENTS_DOUBLE_ENCODED", "LONE_SURROGATE"]),
        ('{"arguments":"{}"}', '{"arguments":"{}"}', ["ARGUMENTS_MAYBE_WRAPPED"]),
        ('{"arguments":"[]"}', '{"arguments":"[]"}', []),
        ('{"arguments":{"a":1}}', '{"arguments":{"a":1}}', ["ARGUMENTS_MAYBE_WRAPPED"]),
        ('{"name":"f","input":{}}', '{"name":"f","input":{}}', ["ARGUMENTS_MAYBE_WRAPPED"]),
        ('{"input":"x"}', '{"input":"x"}', []),
        ('{"input":{},"a":1}', '{"input":{},"a":1}', []),
        ('{"input":{},"args":{}}', '{"input":{},"args":{}}', []),
    ],
)
def test_what_was_done_to_arguments_is_told(raw: Json, value: str, warnings: list[str]) -> None:
    read = read_arguments(raw, max_depth=64)
    assert (read.value, list(read.warnings)) == (value, warnings)


@pytest.mark.parametrize("text", ['"pin"', '"[1]"', '"{\\"a\\": "', '"\\"\\\\\\"{}\\\\\\"\\""'])
def test_a_string_that_holds_no_object_is_a_string(text: str) -> None:
    read = read_arguments(text, max_depth=64)
    assert read.value == ArgumentError("ARGUMENTS_NOT_OBJECT", "a string")


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_number_that_json_does_not_have_is_an_error_in_text_and_value(number: str) -> None:
    in_text = read_arguments(f'{{"a":{number}}}', max_depth=64)
    in_value = read_arguments({"a": float(number)}, max_depth=64)
    assert in_text.warnings == ("NON_FINITE_NUMBER",)
    in_string = read_arguments(json.dumps(f'{{"a":{number}}}'), max_depth=64)
    assert (type(in_string.value), in_string.warnings) == (ArgumentError, ("NON_FINITE_NUMBER",))
    assert in_value.warnings == ("ARGUMENTS_NOT_STRING", "NON_FINITE_NUMBER")
    for read in (in_text, in_value):
        assert isinstance(read.value, ArgumentError)
        assert read.value.code == "ARGUMENTS_INVALID_JSON"


@pytest.mark.parametrize(
    ("raw", "code", "detail"),
    [
        ("", "ARGUMENTS_INVALID_JSON", "Expecting value at line 1, column 1"),
        (None, "ARGUMENTS_NOT_OBJECT", "nothing"),
        ("null", "ARGUMENTS_NOT_OBJECT", "null"),
        ("[]", "ARGUMENTS_NOT_OBJECT", "a list"),
        ({"a": 1}, "ARGUMENTS_NOT_OBJECT", "a value that is no text"),
        ('{"a":1,"a":2}', "ARGUMENTS_INVALID_JSON", "a key stands twice"),
        ('"{}"', "ARGUMENTS_NOT_OBJECT", "a string"),
        ('{"a":1,}', "ARGUMENTS_INVALID_JSON", "Expecting property name enclosed in double quotes"),
    ],
)
def test_strictly_arguments_are_the_text_of_an_object_as_it_stands(raw: Json, code: str, detail: str) -> None:
    read = read_arguments(raw, max_depth=64, repairs="strict")
    assert isinstance(read.value, ArgumentError)
    assert read.value.code == code
    assert read.value.detail.startswith(detail)
    whole = read_arguments('{"arguments": {}}', max_depth=64, repairs="strict")
    assert (whole.value, whole.warnings) == ('{"arguments":{}}', ())


def test_every_error_has_its_words() -> None:
    assert [*ERROR_WORDS] == [*get_args(ArgumentErrorCode)]


@pytest.mark.parametrize(
    "key", ["file<arg_key", "path</arg_key>", "<|im_end|>", "a<parameter", "x<tool_call>"]
)
def test_a_key_with_markup_in_it_is_refused(key: str) -> None:
    refused = ArgumentError("ARGUMENTS_INVALID_JSON", "a key holds markup of the model")
    assert read_arguments(canonical({"a": 1, key: 2}), max_depth=64).value == refused
    assert read_arguments({key: 2}, max_depth=64).value == refused
    assert read_arguments(canonical({"a": key, "b<c": "<b>"}), max_depth=64).value == (
        canonical({"a": key, "b<c": "<b>"})
    )


def test_thousands_of_objects_that_differ_are_no_arguments() -> None:
    text = "".join(f'{{"a":{number}}}' for number in range(5_000))
    assert isinstance(read_arguments(text, max_depth=64).value, ArgumentError)
