from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from tests.strategies import json_values
from toolreel_core._jsontext import Json, canonical, partial_value


def is_part(part: Json, whole: Json) -> bool:
    """Whether a value may still become another."""
    if isinstance(part, str):
        return isinstance(whole, str) and whole.startswith(part)
    if isinstance(part, Mapping):
        items = whole.items() if isinstance(whole, Mapping) else ()
        return [*part] == [key for key, _ in items][: len(part)] and all(
            is_part(part[key], value) for key, value in items if key in part
        )
    if isinstance(part, Sequence):
        fits = isinstance(whole, Sequence) and not isinstance(whole, str) and len(part) <= len(whole)
        return fits and all(is_part(one, other) for one, other in zip(part, whole, strict=False))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return part == whole


@given(st.one_of(st.lists(json_values), st.dictionaries(st.text(), json_values)), st.data())
def test_what_is_shown_only_grows_into_the_whole(value: Json, data: st.DataObject) -> None:
    text = canonical(value)
    cut = data.draw(st.integers(1, len(text)))
    part = partial_value(text[:cut])
    assert is_part(part, value)
    assert is_part(part, partial_value(text[: data.draw(st.integers(cut, len(text)))]))
    assert partial_value(text) == value
    assert partial_value(f"```json\n{text}\n") == value


@pytest.mark.parametrize(
    ("text", "value"),
    worked("what is open is closed or left out", "json-and-replies"),
)
def test_what_is_open_is_closed_or_left_out(text: str, value: Json) -> None:
    assert partial_value(text, max_depth=3) == value


@given(st.text(alphabet='{}[]",:\\u019d8 tre`\n', max_size=40))
def test_no_text_is_too_odd(text: str) -> None:
    partial_value(text)
