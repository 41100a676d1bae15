from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolreel_core._jsontext.canonical import Json, canonical, read
from toolreel_core._jsontext.fast import canonical_object, plain_object

LEVELS = 8
SPOILT = ("NaN", "1e999", "-Infinity", '"\\ud83d"', '"\\ud83d\\ude00"', '"\ud83d"', '"\\u0022"', "9" * 5000)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """JSON as servers and models write it, and some that has a flaw."""
    tree = {"a": draw(VALUES), "mark": 0}
    spaced = draw(st.sampled_from([(", ", ": "), (",", ":"), (" ,\n", "\t: ")]))
    text = json.dumps(tree, ensure_ascii=draw(st.booleans()), separators=spaced)
    flaw = draw(st.sampled_from(["0", *SPOILT, '0, "a": 1', '{"b": 1, "b": 2}', "0}"]))
    at = text.rindex("0}")
    text = f"{text[:at]}{flaw}}}"
    around = draw(st.sampled_from(["", " \n", "\u00a0", "\ufeff", "]"]))
    return around + text + draw(st.sampled_from(["", "\r\n\t", "x"]))


@given(texts())
@example("[]")
@example('{"a": ' * 9 + "1" + "}" * 9)
@example('{"a": "[[[[[[[[["}')
@example('{"a": ' + "[" * 7 + "1" + "]" * 7 + "}")
@example('{"a": ' + '{"b":[' * 4 + "1" + "]}" * 4 + "}")
@example(json.dumps({"rows": [{"a": "]"}] * 20}))
@example(json.dumps({"rows": [{"a": "\n"}] * 20}))
@example(json.dumps({"rows": [{"a": 1}] * 20})[:-1])
def test_what_is_found_is_what_reading_with_care_finds(text: str) -> None:
    tree = plain_object(text, max_depth=LEVELS)
    if tree is not None:
        assert read(text, max_depth=LEVELS).unwrap() == tree
        unique = read(text, max_depth=LEVELS, unique_keys=True)
        assert canonical_object(text, tree) == unique.map(canonical).value_or(None)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        "{}",
        ' \r\n\t{"a": [1.5, -0, 1e3, true, null]}\n',
        '{"a": "é \\n \\u00e9 \\" \\\\"}',
        '{"a": {"b": "b", "c": {"b": "b"}}}',
        json.dumps({"text": "word " * 2000}),
        json.dumps({"rows": [{"a": [1], "b": "]"}] * 20}),
    ],
)
def test_what_most_texts_are_is_found(text: str) -> None:
    tree = plain_object(text, max_depth=LEVELS)
    assert tree is not None
    assert tree == json.loads(text)
    assert canonical_object(text, tree) == canonical(json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        '{"a": 1} {}',
        '{"a": 1',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\ud83d"}',
        '{"a": "\\uD83D\\uDE00"}',
        '{"a": "\\u0022"}',
        '{"a": %s}' % ("9" * 5000),
        '{"a": ' * 9 + "1" + "}" * 9,
        "[" * 100_000,
    ],
)
def test_what_needs_a_closer_look_is_left_to_others(text: str) -> None:
    assert plain_object(text, max_depth=LEVELS) is None


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"a": [{"b": "\\"", "b": ""}]}'])
def test_a_key_that_stands_twice_is_seen(text: str) -> None:
    tree = plain_object(text, max_depth=LEVELS)
    assert tree is not None
    assert canonical_object(text, tree) is None


def test_a_key_of_many_objects_stands_once_in_each() -> None:
    rows: Json = {"rows": [{"id": row, "name": f'"{row}"'} for row in range(5)]}
    text = json.dumps(rows)
    tree = plain_object(text, max_depth=LEVELS)
    assert tree is not None
    assert canonical_object(text, tree) == canonical(rows)
