from __future__ import annotations

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals._scenarios.packs.choice import CHOICE
from toolreel_core.evals._scenarios.scripts import call, script


def test_there_are_fifty_tools_to_choose_from() -> None:
    for one in CHOICE:
        assert len(one.begin("1").tools.names) == 50


def test_trying_several_is_no_choice() -> None:
    right, other = call("archive_contract", number="K-204"), call("archive_order", number="K-204")
    assert rehearse(CHOICE[0], script(right, "Done so.")).verdict.result == "pass"
    assert rehearse(CHOICE[0], script(right + other, "Done so.")).verdict.result == "fail"
    assert rehearse(CHOICE[0], script(right, right, "Done so.")).verdict.result == "fail"
