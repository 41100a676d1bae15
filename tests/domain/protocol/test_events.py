from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any, cast, get_args

import pytest

from toolreel_core._conversation import Blob, Image
from toolreel_core._errors import ConfigError, ProtocolError
from toolreel_core._protocol import (
    ANSWERS,
    ApprovalGiven,
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
    UserSpoke,
    user_spoke_event,
)

KINDS: tuple[type[Any], ...] = get_args(Event)


def test_exactly_the_events_that_answer_an_effect_carry_its_ref() -> None:
    answering = {kind for kinds in ANSWERS.values() for kind in kinds}
    assert {kind for kind in KINDS if "ref" in {item.name for item in fields(kind)}} == answering


def test_what_answers_an_effect_may_say_when_and_so_may_the_user() -> None:
    answering = {kind for kinds in ANSWERS.values() for kind in kinds}
    timed = {kind for kind in KINDS if "at_ms" in {item.name for item in fields(kind)}}
    assert timed == {*answering, UserSpoke}


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        (ReplyReceived(1, 200, "é\udcff"), ReplyReceived(1, 200, "é\ufffd")),
        (
            RequestFailed(1, "status", "é\udcff", 500, "\ud83d"),
            RequestFailed(1, "status", "é\ufffd", 500, "\ufffd"),
        ),
        (ToolReturned(1, '"é\udcff"'), ToolReturned(1, '"é\ufffd"')),
        (ApprovalGiven(1, False, "é\udcff"), ApprovalGiven(1, False, "é\ufffd")),
        (CancelRequested("é\udcff"), CancelRequested("é\ufffd")),
        (UserSpoke("é\udcff"), UserSpoke("é\ufffd")),
    ],
)
def test_an_event_holds_no_text_that_could_not_be_written_down(event: Event, kept: Event) -> None:
    assert event == kept


@pytest.mark.parametrize("answer", ["false", "no", "", "true", 0, 1, None, [], {"approved": True}])
def test_only_a_bool_approves_or_denies(answer: object) -> None:
    with pytest.raises(ProtocolError, match=re.escape(f"is {answer!r}: give True to run the tool")):
        ApprovalGiven(1, cast("bool", answer))


def test_events_show_what_is_seldom_there_only_if_it_is() -> None:
    failed, image = RequestFailed(1, "status", "no", 503), Image(Blob("image/png", "AAAA"))
    assert "should_retry" not in repr(failed)
    assert "should_retry=False" in repr(replace(failed, should_retry=False))
    assert "parts" not in repr(ToolReturned(1, "{}"))
    assert ", parts=(Image([image" in repr(ToolReturned(1, "{}", parts=(image,)))
    assert repr(user_spoke_event("hi", 3)) == "UserSpoke(content='hi', at_ms=3)"
    with pytest.raises(ConfigError, match="content: it differs from the text of the parts"):
        UserSpoke("Hear:", None, (image,))
