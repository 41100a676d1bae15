from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from tests.samples import complaint, printed_under, worked
from tests.strategies import json_values
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    canonical,
    canonical_without_non_finite,
    chained_digest,
    chained_part_digest,
    digest,
    has_lone_surrogate,
    json_error_reason,
    json_with_sorted_keys,
    linked_digest,
    nesting_depth,
    parse,
    read_json,
    read_json_with_non_finite,
    without_non_finite_numbers,
)


def test_canonical_text_is_compact_keeps_the_order_of_keys_and_writes_non_ascii_as_itself() -> None:
    value: Json = {"b": [1, 2.5, True, None], "a": {"ключ": "é\n\u2028\x7f"}}
    assert canonical(value) == '{"b":[1,2.5,true,null],"a":{"ключ":"é\\n\u2028\x7f"}}'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"n": [number]})


@given(json_values)
def test_what_is_written_is_read_back_as_the_same_value_and_the_same_text(value: Json) -> None:
    text = canonical(value)
    assert read_json(text) == Success(value)
    assert canonical(parse(text)) == text


@pytest.mark.parametrize(("text", "why"), worked("text that is not json fails in words", "json-and-replies"))
def test_text_that_is_not_json_fails_in_words(text: str, why: str) -> None:
    assert read_json(text) == Failure(why)


@pytest.mark.parametrize(("kind", "text"), [("object", '{"a": 1 ,\n }'), ("array", '{"a": [1, ]}')])
def test_the_words_are_those_of_python_3_11_under_every_python(kind: str, text: str) -> None:
    newer = json.JSONDecodeError(f"Illegal trailing comma before end of {kind}", text, text.index(",", 6))
    assert Failure(json_error_reason(newer)) == read_json(text)


def test_whether_an_integer_is_too_long_does_not_depend_on_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONINTMAXSTRDIGITS", "0")
    program = "from toolreel_core._jsontext import read_json; print(read_json('1' * 4301))"
    assert printed_under(0, program) == "<Failure: an integer of 4301 digits is too long>"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"k":', "}"), ('[{"k":', "}]")])
def test_text_may_nest_up_to_the_cap_and_no_deeper(opening: str, closing: str) -> None:
    levels = len(opening.replace('"k":', ""))
    deep = 8 // levels
    for count, depth in ((deep - 1, 8 - levels), (deep, 8)):
        text = opening * count + "0" + closing * count
        assert read_json(text, max_depth=depth) == Success(json.loads(text))
    text = opening * deep + "0" + closing * deep
    assert read_json(text, max_depth=7) == Failure("nested deeper than 7 levels")


@pytest.mark.parametrize(
    ("text", "enough", "depth"),
    worked("nesting is counted outside strings as far as it matters", "json-and-replies"),
)
def test_nesting_is_counted_outside_strings_as_far_as_it_matters(text: str, enough: int, depth: int) -> None:
    assert nesting_depth(text, enough=enough) == depth


@pytest.mark.parametrize(
    ("text", "value"), worked("a lone surrogate is replaced and a pair is kept", "json-and-replies")
)
def test_a_lone_surrogate_is_replaced_and_a_pair_is_kept(text: str, value: Json) -> None:
    assert read_json(text) == Success(value)


@pytest.mark.parametrize(
    ("text", "key"),
    [('{"a": 1, "a": 2}', "a"), ('[{"b": {"a": 1, "c": 2, "c": 2, "a": 3}}]', "c"), ('{"": 1, "": 1}', "")],
)
def test_a_key_that_stands_twice_is_refused_where_keys_must_be_unique(text: str, key: str) -> None:
    assert read_json(text, unique_keys=True) == Failure(f"the key {key!r} stands twice")
    assert read_json(text) == Success(json.loads(text))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_read_on_request_and_turned_to_null(number: str) -> None:
    found = read_json_with_non_finite(
        f'{{"a": [1.5, {number}], "b": {number}, "c": [true, 2, "x", null]}}'
    ).unwrap()
    assert without_non_finite_numbers(found) == {"a": [1.5, None], "b": None, "c": [True, 2, "x", None]}


@pytest.mark.parametrize("blanks", [0, 1, 17, 4298, 4299, 4300, 4301, 9000])
@pytest.mark.parametrize("unique", [False, True])
def test_a_number_that_is_too_long_is_refused_wherever_it_stands(blanks: int, unique: bool) -> None:
    long, longer = (f'{{"a":{" " * blanks}-{"7" * digits}}}' for digits in (4300, 4301))
    assert read_json(long, unique_keys=unique) == Success(json.loads(long))
    assert read_json(longer, unique_keys=unique) == Failure("an integer of 4301 digits is too long")


def test_half_a_pair_may_be_kept_until_the_other_half_comes() -> None:
    halves = [read_json(f'"{half}"', with_halves=True).unwrap() for half in ("\\ud83d", "\\ude00")]
    assert read_json(json.dumps("".join(map(str, halves)))).unwrap() == "\U0001f600"


def test_a_value_that_holds_itself_has_no_text() -> None:
    endless: list[Json] = []
    endless.append(endless)
    assert complaint(ValueError, lambda: canonical(endless)) == "Circular reference detected"


def test_what_stands_behind_a_canonical_text_is_an_error() -> None:
    wrong = JsonText('{"a":1} {"b":2}')
    assert complaint(ValueError, lambda: parse(wrong)) == (
        "not canonical JSON text: ' {\"b\":2}' stands behind its value"
    )


def test_a_number_that_json_cannot_write_is_null_in_a_finite_text() -> None:
    assert canonical_without_non_finite({"b": [1, math.inf], "a": "é"}) == '{"b":[1,null],"a":"é"}'


def test_a_sorted_text_is_the_same_for_any_order_of_keys_and_takes_any_text_and_number() -> None:
    value: Tree = {"b": [{"d": math.nan, "c": "\ud83d"}], "a": 1}
    assert json_with_sorted_keys(value) == json_with_sorted_keys(
        {"a": 1, "b": [{"c": "\ud83d", "d": math.nan}]}
    )
    assert json_with_sorted_keys(value).isascii()
    assert json_with_sorted_keys(value) != json_with_sorted_keys({**value, "a": 2})


@given(st.text(), st.text())
def test_a_chain_goes_on_from_its_end_in_text_and_bytes(before: str, part: str) -> None:
    whole = chained_digest("", before, part)
    assert (
        chained_digest(chained_digest("", before), part)
        == chained_part_digest(chained_digest("", before), digest(part))
        == whole
    )
    assert linked_digest(linked_digest(b"", before.encode()), part.encode()).hex() == whole


def test_where_a_part_ends_makes_a_difference_to_a_chain() -> None:
    assert (
        len(
            {
                chained_digest("", "ab", "c"),
                chained_digest("", "a", "bc"),
                chained_digest("", "abc"),
                chained_digest("", "abc", ""),
            }
        )
        == 4
    )


@pytest.mark.parametrize(
    ("about", "is_damage"),
    [("half a pair is damage", True), ("whole pairs and other escapes are none", False)],
)
def test_half_a_pair_is_damage_and_other_escapes_are_none(about: str, is_damage: bool) -> None:
    assert {has_lone_surrogate(text) for text in worked(about, "json-and-replies")} == {is_damage}
