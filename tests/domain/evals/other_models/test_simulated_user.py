"""A user that a model plays: what the model sees, how it ends, and what its failure means."""

from __future__ import annotations

from dataclasses import replace

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._conversation.message import AssistantMessage, UserMessage, shown_content
from toolreel_core.evals._other_models.simulated_user import END, SimulatedUser, ends
from toolreel_core.evals._scenarios.catalogue import scenario, scripts_of
from toolreel_core.evals._verdicts.verdict import judge

USER = SimulatedUser("user-model", "You want a lamp.")


def test_the_parts_are_swapped() -> None:
    system, begin, *rest = USER.messages(["A lamp, please.", "Brass."], ["Which?", "Ordered."])
    assert shown_content(system).startswith("You want a lamp.\n")
    assert END in shown_content(system)
    assert isinstance(begin, UserMessage)
    assert rest == [
        AssistantMessage("A lamp, please."),
        UserMessage("Which?"),
        AssistantMessage("Brass."),
        UserMessage("Ordered."),
    ]


def test_it_ends_with_a_word_that_nobody_says_by_chance() -> None:
    assert ends(f"Thanks. {END.upper()}")
    assert not ends("That is the end.")


def test_a_user_that_failed_says_nothing_about_the_model() -> None:
    one = scenario("one_text")
    seen = rehearse(one, scripts_of(one, "1").bad).evidence
    found = judge(one.begin("1"), replace(seen, user_failure="no connection"))
    assert (found.result, found.category, found.reasons) == ("void", "helper.user", ("no connection",))
