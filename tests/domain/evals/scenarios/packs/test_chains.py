from __future__ import annotations

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals._scenarios.packs.chains import CHAINS
from toolreel_core.evals._scenarios.scripts import call, script


def test_each_step_needs_what_the_one_before_has_told() -> None:
    guessed = call("last_order", customer_id="Ada Quint")
    found = rehearse(CHAINS[0], script(guessed, "I cannot."))
    assert [call.codes for call in found.evidence.calls] == [("NOT_FOUND",)]
    assert found.verdict.result == "fail"


def test_a_detour_on_the_way_is_allowed() -> None:
    one = CHAINS[0]
    assert one.scripts is not None
    lines = one.scripts.good.lines
    detour = call("find_customer", name="Ada Quinn")
    assert rehearse(one, script(*lines[:3], detour, *lines[3:])).verdict.result == "pass"
