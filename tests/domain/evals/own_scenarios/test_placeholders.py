from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._internal import PlaceError
from toolreel_core._jsontext import Json
from toolreel_core.evals import check_placeholders, escaped, filled

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["{a}", "{{a}}", 'x {"a": {b}}']),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_what_is_escaped_stands_for_itself(value: Json) -> None:
    check_placeholders(escaped(value), {})
    assert filled(escaped(value), {}) == value


def test_json_in_a_text_is_left_alone() -> None:
    text = 'Send {"a": {"b": [1]}} and {} and { n }.'
    assert filled(text, {}) == text


def test_keys_are_filled_and_a_bare_placeholder_keeps_its_type() -> None:
    assert filled({"{k}": ["{n}", "{n}!", True, None, 1.5]}, {"k": "x", "n": 3}) == {
        "x": [3, "3!", True, None, 1.5]
    }


@pytest.mark.parametrize(
    ("value", "known", "told"),
    [
        (
            "{cuty}",
            {"city": 1},
            r"there is no draw 'cuty'; did you mean 'city'\? \(for the text itself, write {{cuty}}\)",
        ),
        ([{"{a}": 1}], {}, r"tool.x: nothing is drawn for {a}"),
        ({"a": [1, None, "{b}"]}, {"c": 1}, "'b'"),
    ],
)
def test_a_placeholder_without_a_draw_is_refused(value: Json, known: dict[str, int], told: str) -> None:
    with pytest.raises(PlaceError, match=told):
        check_placeholders(value, known, "tool", "x")
