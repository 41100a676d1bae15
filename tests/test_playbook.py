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
ASKED: tuple[Turn, ...] = (asks(), replies_calling(PING))
WHOLE: tuple[Turn, ...] = (
    *(*ASKED, runs("call_a", "ping", {}), returns(1)),
    asks(calling(PING), tells("call_a", "ping", {"value": 1})),
    replies("pong"),
    finishes(Completed("pong")),
)


def test_a_script_that_fits_passes() -> None:
    played = Playbook(PLAN).play(*WHOLE)
    assert CallStarted(1, "call_a", "ping", "structured") in played.notes


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            (asks(), replies("pong"), runs("call_a", "ping", {})),
            "before turn 2: expected RunTool, but the run",
        ),
        ((*ASKED, runs("call_b", "ping", {})), '-    "call_id": "call_b",\n+    "call_id": "call_a",'),
        ((replies("pong"),), "expected nothing, but the run emitted SendRequest"),
        ((*ASKED, returns(1)), "expected nothing, but the run emitted RunTool"),
        ((*WHOLE, finishes(Completed("pong"))), "expected Finish, Finish, but the run emitted Finish"),
        ((*WHOLE, returns(1), finishes(Completed("pong"))), "but the run emitted nothing"),
        (WHOLE[:3], "after turn 1 the script ends, but the run is still AwaitingTools"),
    ],
)
def test_a_script_that_does_not_fit_fails(script: tuple[Turn, ...], words: str) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        Playbook(PLAN).play(*script)
    assert words in str(failure.value)
