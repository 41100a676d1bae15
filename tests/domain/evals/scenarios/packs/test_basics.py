from __future__ import annotations

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals._scenarios.packs.basics import BASICS
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import call, script


def test_two_orders_are_right_in_the_order_that_the_user_gave_them() -> None:
    lamp, note = call("switch_lamp", room="hall", on=False), call("add_note", note="lock the door")
    *_, both = BASICS
    assert rehearse(both, script(lamp, note, "Done.")).verdict.result == "pass"
    assert rehearse(both, script(note, lamp, "Done.")).verdict.result == "fail"


@pytest.mark.parametrize("scenario", BASICS, ids=lambda scenario: scenario.name)
def test_who_only_says_so_has_done_nothing(scenario: Scenario) -> None:
    assert rehearse(scenario, script("It is done.")).verdict.result == "fail"


def test_a_number_that_is_none_never_reaches_the_tool() -> None:
    found = rehearse(BASICS[2], script(call("set_alarm", hour=6, minute=75), "It is set."))
    assert found.evidence.calls[0].codes == ("ARGUMENTS_SCHEMA_ERROR",)
