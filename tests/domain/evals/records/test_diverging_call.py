"""Where two conversations first differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core.evals._records.diverging_call import DivergingCall, diverging_call
from toolreel_core.evals._records.request_divergence import ContentMessage

USER = ContentMessage("user", "Do it.")
READ = ContentMessage("assistant", calls=(("read", "{}"),))
BOTH = ContentMessage("assistant", calls=(("read", "{}"), ("write", '{"a":1}')))
RESULT = ContentMessage("tool", "1", answers=1)
DONE = ContentMessage("assistant", "Done.")


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ((USER, READ, RESULT, DONE), (USER, READ, RESULT, DONE), None),
        ((USER,), (ContentMessage("user", "Don't."),), DivergingCall(0, 0, "user: Do it.", "user: Don't.")),
        ((USER, READ), (USER, BOTH), DivergingCall(1, 2, "nothing", 'write({"a":1})')),
        (
            (USER, BOTH),
            (USER, ContentMessage("assistant", calls=(("find", "{}"),))),
            DivergingCall(1, 1, "read({})", "find({})"),
        ),
        ((USER, READ, RESULT, DONE), (USER, DONE), DivergingCall(1, 1, "read({})", "Done.")),
        (
            (USER, READ, RESULT, DONE),
            (USER, READ, ContentMessage("tool", "2", answers=1), DONE),
            DivergingCall(1, 1, "result 1", "result 2"),
        ),
        (
            (USER, READ, RESULT, DONE),
            (USER, READ, RESULT, ContentMessage("assistant")),
            DivergingCall(2, 0, "Done.", "nothing"),
        ),
        (
            (USER, READ, RESULT),
            (USER, READ, RESULT, ContentMessage("user", "Go on.")),
            DivergingCall(1, 0, "nothing", "user: Go on."),
        ),
    ],
)
def test_the_first_difference_is_found(
    first: tuple[ContentMessage, ...], second: tuple[ContentMessage, ...], found: DivergingCall | None
) -> None:
    assert diverging_call(first, second) == found


def test_a_place_is_named_and_long_texts_are_cut() -> None:
    places = [DivergingCall(turn, call, "", "").place for turn, call in ((0, 0), (2, 0), (2, 1))]
    assert places == ["the opening", "turn 2, the text", "turn 2, call 1"]
    found = diverging_call((USER, ContentMessage("assistant", "x" * 500)), (USER, DONE))
    assert found == DivergingCall(1, 0, f"{'x' * 120}…", "Done.")


@given(st.lists(st.sampled_from([USER, READ, BOTH, RESULT, DONE])), st.data())
def test_a_difference_is_found_wherever_it_is_and_nowhere_else(
    messages: list[ContentMessage], data: st.DataObject
) -> None:
    assert diverging_call(messages, messages) is None
    if messages:
        place = data.draw(st.integers(0, len(messages) - 1))
        other = [*messages[:place], ContentMessage("assistant", "other"), *messages[place + 1 :]]
        assert diverging_call(messages, other) is not None
        assert diverging_call(messages, messages[:place]) is not None
