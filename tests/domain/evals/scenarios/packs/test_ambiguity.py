from __future__ import annotations

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals._scenarios.packs.ambiguity import AMBIGUITY
from toolreel_core.evals._scenarios.scripts import call, script


def test_a_value_that_is_no_choice_never_reaches_the_tool() -> None:
    wrong = call("book_room", day="2026-03-12", minutes=90, size="medium")
    right = call("book_room", day="2026-03-12", minutes=90, size="M")
    found = rehearse(AMBIGUITY[0], script(wrong, right, "It is booked."))
    assert found.evidence.calls[0].codes == ("ARGUMENTS_SCHEMA_ERROR",)
    assert found.verdict.result == "pass"


def test_a_number_is_right_in_either_form() -> None:
    right = call("set_heating", room="kitchen", celsius=20.0, mode="eco")
    assert rehearse(AMBIGUITY[1], script(right, "It is set.")).verdict.result == "pass"
