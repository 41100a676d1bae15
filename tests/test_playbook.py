from __future__ import annotations

import pytest

from tests.playbook import (
    Playbook,
    Turn,
    asks,
    calling,
    finishes,
    replies,
    replies_calling,
    returns,
    runs,
    tells,
)
from toolreel_core._plan import Plan
from toolreel_core._protocol import CallStarted, Completed
from toolreel_core._tools import ToolDefinition

PLAN = Plan.of(model="m", messages="hi", tools=[ToolDefinition.of("ping")])
PING = ("call_a", "ping", "{}")
BEGINNING: tuple[Turn, ...] = (asks(), replies_calling(PING), runs("call_a", "ping", {}), returns(1))
WHOLE: tuple[Turn, ...] = (
    *BEGINNING,
    asks(calling(PING), tells("call_a", "ping", {"value": 1})),
    replies("pong"),
    finishes(Completed("pong")),
)


def complaint(*script: Turn) -> str:
    with pytest.raises(pytest.fail.Exception) as failure:
        Playbook(PLAN).play(*script)
    return str(failure.value)


def test_a_script_that_fits_passes() -> None:
    played = Playbook(PLAN).play(*WHOLE)
    assert CallStarted(1, "call_a", "ping", "structured") in played.notes


def test_another_kind_of_effect_fails_and_is_named() -> None:
    text = complaint(asks(), replies("pong"), runs("call_a", "ping", {}))
    assert text.startswith("before turn 2: expected RunTool, but the run emitted Finish")


def test_other_fields_fail_with_a_diff() -> None:
    text = complaint(asks(), replies_calling(PING), runs("call_b", "ping", {}))
    assert '-    "call_id": "call_b",' in text
    assert '+    "call_id": "call_a",' in text


def test_an_effect_that_nobody_expected_fails_before_the_next_event() -> None:
    assert "expected nothing, but the run emitted SendRequest" in complaint(replies("pong"))
    assert "expected nothing, but the run emitted RunTool" in complaint(
        asks(), replies_calling(PING), returns(1)
    )


def test_an_effect_that_never_came_fails() -> None:
    text = complaint(*WHOLE, finishes(Completed("pong")))
    assert "expected Finish, Finish, but the run emitted Finish" in text
    assert "but the run emitted nothing" in complaint(*WHOLE, returns(1), finishes(Completed("pong")))


def test_a_script_that_ends_too_early_fails() -> None:
    assert "after turn 1 the script ends, but the run is still AwaitingTools" in complaint(*WHOLE[:3])
