"""What earlier answers change in later requests."""

from __future__ import annotations

import pytest

from toolreel_core._probe import Known, Word, beside_call, content_of, tool_turn


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("honoured", "honoured", "max_tokens"),
        ("refused", "honoured", "max_completion_tokens"),
        ("ignored", "honoured", "max_completion_tokens"),
        ("ignored", "ignored", "max_tokens"),
        ("refused", "ignored", "max_completion_tokens"),
        ("refused", "refused", ""),
    ],
)
def test_the_output_is_limited_by_the_field_that_works(old: Word, new: Word, field: str) -> None:
    known = Known({"max_tokens": old, "max_completion_tokens": new})
    assert known.cap_field == field
    assert known.options(16) == {**({field: 16} if field else {}), "temperature": 0}


def test_a_model_that_thinks_gets_room_for_it() -> None:
    assert Known(reasoning="reasoning").options(16) == {"max_tokens": 256, "temperature": 0}


def test_a_temperature_that_is_refused_is_not_sent() -> None:
    assert Known({"temperature": "refused"}).options(16) == {"max_tokens": 16}


def test_the_content_beside_calls_is_the_one_that_was_taken() -> None:
    known = Known({"tool_turn": "refused", "content_absent": "accepted"})
    assert content_of(known) == "omit"
    assert "content" not in tool_turn(known)[1]
    assert [beside_call(each) for each in ("empty", "null", "omit", "space")] == [
        {"content": ""},
        {"content": None},
        {},
        {"content": " "},
    ]
