from __future__ import annotations

import json
import math
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.pipeline import is_successful

from tests.samples import worked
from tests.strategies import json_objects, json_values
from toolreel_core._jsontext import (
    REPAIRS,
    Bare,
    Flaw,
    Json,
    Repair,
    SearchedText,
    Style,
    Value,
    canonical,
    end_of_blanks,
    members_at,
    read_json,
    value_at,
)

NOTHING = Style(repairs=REPAIRS["strict"])
SAFE = Style(repairs=REPAIRS["safe"])
LENIENT = Style(repairs=REPAIRS["lenient"])
EVERYTHING = Style(repairs=frozenset(get_args(Repair)))
STYLES = {"strict": NOTHING, "safe": SAFE, "lenient": LENIENT, "text": Style(), "everything": EVERYTHING}
NEARLY_JSON = st.text(alphabet="{}[](),:\"'\\/*#\n\t TrueNonul01.e-axU$\u200b")
TAG = Style(closing=re.compile("</t>"))
LOOSE = Style(quote="<q>", colons=":=", words=True)


@pytest.mark.parametrize(
    ("text", "tree"),
    worked("json is read as models write it", "json-and-replies"),
)
def test_json_is_read_as_models_write_it(text: str, tree: Json) -> None:
    assert value_at(SearchedText(text), 0) == Value(tree, len(text))


@pytest.mark.parametrize(
    ("text", "at", "unfinished"),
    worked("what cannot be read says where and whether it broke off", "json-and-replies"),
)
def test_what_cannot_be_read_says_where_and_whether_it_broke_off(
    text: str, at: int, unfinished: bool
) -> None:
    assert value_at(SearchedText(text), 0) == Flaw(at, unfinished)


def test_closers_may_be_missing_before_the_closing_tag() -> None:
    assert value_at(SearchedText('{"a": [{"b": 1</t>'), 0, TAG) == Value({"a": [{"b": 1}]}, 14)
    assert value_at(SearchedText('{"a": 1, </t>'), 0, TAG) == Flaw(7, False)
    assert value_at(SearchedText('{"a": {"b": 1,}</t>'), 0, TAG) == Value({"a": {"b": 1}}, 15)
    assert value_at(SearchedText('{"a": 1</u>'), 0, TAG) == Flaw(7, False)


def test_words_may_do_without_quotes_where_a_dialect_says_so() -> None:
    read = members_at(SearchedText('{a: <q>x, y<q>, <q>b<q>: some word, c = [1], "d": true}'), 1, "}", LOOSE)
    assert isinstance(read, Value)
    assert read.tree == {"a": "x, y", "b": "some word", "c": ["1"], "d": "true"}
    assert isinstance(read.tree, dict)
    assert isinstance(read.tree["b"], Bare)
    assert not isinstance(read.tree["a"], Bare)
    assert members_at(SearchedText("{a: <q>x"), 1, "}", LOOSE) == Flaw(8, True)
    assert members_at(SearchedText("{a: }"), 1, "}", LOOSE) == Flaw(4, False)


def test_keywords_of_a_python_call_need_no_quotes() -> None:
    call = Style(colons="=")
    assert members_at(SearchedText('f(a=1, b={"c": 2})'), 2, ")", call) == Value({"a": 1, "b": {"c": 2}}, 18)
    assert members_at(SearchedText("f(a=1, b={c: 2})"), 2, ")", call) == Flaw(10, False)
    assert members_at(SearchedText("f(7)"), 2, ")", call) == Flaw(2, False)


def test_comments_are_passed_over() -> None:
    assert end_of_blanks(SearchedText(" // a\n /* b */ 1"), 0) == 15
    assert end_of_blanks(SearchedText("/ 1"), 0) == 0


def whole(text: str, style: Style) -> Value | Flaw:
    """The value that a text is, with nothing behind it but blanks and comments."""
    source = SearchedText(text)
    value = value_at(source, 0, style)
    if isinstance(value, Flaw) or end_of_blanks(source, value.end, style) == len(text):
        return value
    return Flaw(value.end, unfinished=False)


@pytest.mark.parametrize(
    ("text", "value"),
    worked("the notation of a closed payload is repaired", "json-and-replies"),
)
def test_the_notation_of_a_closed_payload_is_repaired(text: str, value: Json) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    for style in (SAFE, LENIENT):
        found = whole(text, style)
        assert isinstance(found, Value)
        assert found.tree == value


@pytest.mark.parametrize(
    "text",
    worked("what was cut or is something else is no value in arguments", "json-and-replies"),
)
def test_what_was_cut_or_is_something_else_is_no_value_in_arguments(text: str) -> None:
    assert isinstance(whole(text, SAFE), Flaw)
    assert isinstance(whole(text, LENIENT), Flaw)


@pytest.mark.parametrize(
    ("text", "repair"),
    worked("each repair is made where it is allowed and told", "json-and-replies"),
)
def test_each_repair_is_made_where_it_is_allowed_and_told(text: str, repair: Repair) -> None:
    closing = re.compile("</t>")
    allowed = Style(repairs=EVERYTHING.repairs, closing=closing)
    forbidden = Style(repairs=EVERYTHING.repairs - {repair}, closing=closing)
    source = SearchedText(f"[{text}</t>" if repair == "missing_closers" else f"[{text}]")
    value = value_at(source, 0, allowed)
    if repair == "unclosed_comments":
        assert value == Flaw(len(source.text), unfinished=True)
        assert value_at(source, 0, forbidden) == Flaw(3, unfinished=False)
        return
    assert isinstance(value, Value)
    assert repair in value.repairs
    assert isinstance(value_at(source, 0, forbidden), Flaw)


def test_a_number_too_large_is_infinite_and_said_to_be() -> None:
    value = value_at(SearchedText("[1e999, -1e999]"), 0)
    assert isinstance(value, Value)
    assert value.tree == [math.inf, -math.inf]
    assert value.repairs == {"non_finite"}


def test_nesting_is_counted_in_brackets() -> None:
    for levels in (0, 1, 5):
        style = Style(repairs=REPAIRS["safe"], max_depth=levels)
        text = "[" * levels + "1" + "]" * levels
        assert value_at(SearchedText(text), 0, style) == Value(json.loads(text), len(text))
        assert value_at(SearchedText(f"[{text}]"), 0, style) == Flaw(levels, unfinished=False)


@given(json_values)
def test_any_json_is_read_without_a_repair(value: Json) -> None:
    text = canonical(value)
    for style in STYLES.values():
        found = value_at(SearchedText(text), 0, style)
        assert found == Value(json.loads(text), len(text))
        assert isinstance(found, Value)
        assert not found.repairs


@given(NEARLY_JSON)
def test_without_repairs_it_reads_what_the_strict_reader_reads(text: str) -> None:
    found, strict = whole(text, NOTHING), read_json(text, max_depth=65, unique_keys=True)
    if isinstance(found, Value) and not found.repairs:
        assert canonical(strict.unwrap()) == canonical(found.tree)
    else:
        assert not is_successful(strict)


@given(NEARLY_JSON, st.sampled_from(sorted(STYLES)), st.sampled_from(sorted(STYLES)))
def test_all_policies_agree_on_what_they_allow(text: str, one: str, other: str) -> None:
    """A repair that is allowed besides changes nothing in what could be read without it."""
    first, second = whole(text, STYLES[one]), whole(text, STYLES[other])
    if isinstance(first, Value) and first.repairs <= STYLES[other].repairs:
        assert isinstance(second, Value)
        assert repr(second.tree) == repr(first.tree)
        assert (second.end, second.repairs) == (first.end, first.repairs)


@given(json_objects.filter(bool), st.sampled_from(sorted(STYLES)), st.data())
def test_no_beginning_of_an_object_is_ever_completed(
    value: dict[str, Json], style: str, data: st.DataObject
) -> None:
    for text in (canonical(value), repr(value)):
        cut = text[: data.draw(st.integers(0, len(text) - 1))]
        assert isinstance(value_at(SearchedText(cut), 0, STYLES[style]), Flaw)
