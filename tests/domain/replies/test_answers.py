from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from tests.strategies import json_values
from toolreel_core._jsontext import ArgumentRepairs, Json, canonical
from toolreel_core._replies import Answers, json_answers_in_text


def found(text: str, repairs: ArgumentRepairs = "safe") -> Answers:
    return json_answers_in_text(text, max_depth=64, repairs=repairs)


def trees(text: str, repairs: ArgumentRepairs = "safe") -> list[Json]:
    return [reading.tree for reading in found(text, repairs).readings]


@given(json_values)
def test_json_as_a_whole_is_one_value(value: Json) -> None:
    text = canonical(value)
    answers = found(text, "strict")
    assert (trees(text, "strict"), answers.whole) == ([value], True)


@pytest.mark.parametrize(("text", "value", "codes"), worked("a whole value is unwrapped", "json-and-replies"))
def test_a_whole_value_is_unwrapped(text: str, value: Json, codes: list[str]) -> None:
    answers = found(text)
    assert (answers.readings[0].tree, [*answers.readings[0].codes], answers.whole) == (value, codes, True)


@pytest.mark.parametrize(("text", "values"), worked("json among words is found", "json-and-replies"))
def test_json_among_words_is_found(text: str, values: list[Json]) -> None:
    answers = found(text)
    assert [reading.tree for reading in answers.readings] == values
    assert all(reading.codes[0] == "OUTPUT_IN_TEXT" for reading in answers.readings)
    assert not answers.whole
    assert answers.why


def test_repairs_among_words_are_told() -> None:
    (reading,) = found("So: {'n': 1}!").readings
    assert reading.codes == ("OUTPUT_IN_TEXT", "ARGUMENTS_REPAIRED")


def test_strictly_only_a_whole_text_counts() -> None:
    assert trees('So: {"n": 1}', "strict") == []
    assert trees('<think>No.</think>{"n": 1}', "strict") == []
    assert trees(canonical('{"n":1}'), "strict") == ['{"n":1}']


@given(st.text(alphabet='{}[]"`~\n\\ <think/>abn:1,', max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    for repairs in ("strict", "safe", "lenient"):
        answers = json_answers_in_text(text, max_depth=8, repairs=repairs)
        assert answers.whole <= (len(answers.readings) == 1)
