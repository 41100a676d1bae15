from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.cassette import ABSENT, Change, changes, clip_around_difference, drift_text, first_change
from toolreel_core._jsontext import Json, canonical

SYSTEM: dict[str, Json] = {"role": "system", "content": "Be brief."}
TOOL: dict[str, Json] = {"function": {"name": "f", "parameters": {"type": "object"}}}
BODY: dict[str, Json] = {
    "model": "m",
    "messages": [SYSTEM, {"role": "user", "content": "Hi"}],
    "tools": [TOOL],
    "temperature": 0,
}


def changed(**members: Json) -> dict[str, Json]:
    return {**BODY, **members}


@pytest.mark.parametrize(
    ("new", "change"),
    [
        (
            changed(messages=[SYSTEM, {"role": "user", "content": "Ho"}]),
            Change("messages[1].content", '"Hi"', '"Ho"'),
        ),
        (
            changed(tools=[{"function": {"name": "f", "parameters": {"type": "array"}}}]),
            Change("tools[0].function.parameters.type", '"object"', '"array"'),
        ),
        (changed(temperature=0.0), Change("temperature", "0", "0.0")),
        (changed(temperature=False), Change("temperature", "0", "false")),
        (changed(seed=1), Change("seed", ABSENT, "1")),
        (changed(tools=[]), Change("tools[0]", canonical(TOOL), ABSENT)),
        (changed(tools=[TOOL, 1]), Change("tools[1]", ABSENT, "1")),
        ({key: value for key, value in BODY.items() if key != "model"}, Change("model", '"m"', ABSENT)),
        ([1], Change("", canonical(BODY), "[1]")),
    ],
)
def test_the_first_change_is_named_by_its_place(new: Json, change: Change) -> None:
    assert first_change(BODY, new) == change


def test_every_change_is_named_in_the_order_of_the_new_value() -> None:
    old: Json = {"a": 1, "b": {"x": [1, 2, 3], "y": 1}, "c": 0}
    new: Json = {"d": 5, "b": {"y": 1, "x": [1, 4]}, "a": 2, "c": 0}
    assert [change.place for change in changes(old, new)] == ["d", "b.x[1]", "b.x[2]", "a"]


def test_two_texts_are_cut_around_their_first_difference() -> None:
    same = "x" * 200
    assert clip_around_difference(f"{same}a", f"{same}b") == (f"…{'x' * 30}a", f"…{'x' * 30}b")
    assert clip_around_difference("a", "b\n") == ("a", "b\\n")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(old=JSON, new=JSON)
def test_there_is_a_change_exactly_when_the_canonical_texts_differ(old: Json, new: Json) -> None:
    assert (first_change(old, new) is None) == (canonical(old) == canonical(new))


def test_the_first_change_is_shown_and_the_places_of_others_are_listed() -> None:
    old, new = canonical([*range(500)]).encode(), canonical([*range(1, 1000, 2)]).encode()
    *first, others = drift_text(old, new).splitlines()
    assert first == ["first change: [0]", "  recorded: 0", "  request:  1"]
    assert others == f"also changed: {', '.join(f'[{n}]' for n in range(1, 13))}, …"


def test_a_body_that_is_no_json_is_compared_as_text() -> None:
    assert drift_text(b"one\ntwo", b"one\nthree").splitlines() == [
        "first change: the body",
        "  recorded: one\\ntwo",
        "  request:  one\\nthree",
    ]
    assert "\\xff" in drift_text(b"\xff", b"{}")
    assert "the whole body" in drift_text(b"1", b"2")
