from __future__ import annotations

from dataclasses import replace

from toolreel_core.evals import CAPPED, CHAT_ONLY, HAPPY_PATH


def test_a_scenario_is_a_control_if_it_is_a_plain_conversation() -> None:
    assert CHAT_ONLY.control
    assert not HAPPY_PATH.control
    assert [one.control for one in CAPPED] == [False, True]


def test_scenarios_are_the_same_by_what_they_say_and_not_by_their_functions() -> None:
    assert replace(HAPPY_PATH, begin=CHAT_ONLY.begin) == HAPPY_PATH
    assert replace(HAPPY_PATH, version=3) != HAPPY_PATH
