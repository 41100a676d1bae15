"""What the scenarios for production are about does come up in them."""

from __future__ import annotations

import pytest

from tests.domain.evals.rehearsing import Rehearsed, rehearse
from toolreel.evals import built_in, groups
from toolreel_core.evals import Line, at, call, script

SEEDS = [str(number) for number in range(8)]


def good(name: str, seed: str = "1") -> Rehearsed:
    one = built_in(name)
    return rehearse(one, one.scripts(seed).good, seed=seed)


def category(name: str, *lines: Line, seed: str = "1") -> str:
    """The verdict of the oracle, where the loop enforces nothing."""
    return rehearse(built_in(name), script(*lines), seed=seed, tool_use_mode="relaxed").verdict.category


def test_production_has_scenarios_in_packs_of_their_own() -> None:
    names = groups()["production"]
    assert len(names) == 22
    assert set(names) < set(groups()["packs"])
    assert not set(names) & set(groups()["all"])


def test_the_window_overflows_and_what_was_said_first_stays() -> None:
    whole, shortened = good("thirty_turns").bodies[0], good("window_overflows").bodies[0]
    history = len(built_in("window_overflows").begin("1").messages)
    assert len(whole["messages"]) == history == 64
    assert len(shortened["messages"]) < history / 2
    assert "my own customer number" in shortened["messages"][1]["content"]


def test_a_payment_has_gone_through_in_some_trials_and_not_in_others() -> None:
    found = {len(good("paid_once", seed).evidence.calls) for seed in SEEDS}
    assert found == {2, 3}


def test_a_tool_that_hangs_is_tried_with_the_right_thing() -> None:
    other = call("price_of", sku="A-1")
    assert category("hangs_for_good", other, "I could not find out the price.") == "task.outcome:tried"
    assert category("hangs_for_good", "I could not find out the price.") == "task.outcome:tried"


def test_nothing_is_done_before_the_user_has_answered() -> None:
    one = built_in("missing_argument")
    book = one.scripts("1").good.lines[1]
    assert category(one.name, "It is done.", book, "It is done.") == "task.outcome:asked"
    found = rehearse(one, script("How many?", book, "It is done."))
    assert found.evidence.answers == ("How many?", "It is done.")
    assert found.verdict.result == "pass"
    for question in ("I have booked tables for others. How many are you?", "Please tell me how many."):
        assert category(one.name, question, book, "It is done.") == ""


def test_the_first_answer_tells_what_was_asked_first() -> None:
    one = built_in("reference_back")
    *looks, _, reserve, last = one.scripts("1").good.lines
    assert category(one.name, *looks, "Many.", reserve, last) == "task.outcome:first_answer"


@pytest.mark.parametrize("name", ["code_verbatim", "json_verbatim"])
def test_a_text_has_to_arrive_to_the_last_character(name: str) -> None:
    contents = good(name).evidence.world.contents()
    content = str(at(contents, "/orders/0/arguments/content"))
    path = str(at(contents, "/orders/0/arguments/path"))
    assert content in str(built_in(name).begin("1").messages[-1].content)
    for other in (f"{content}\n", f" {content}", content.replace('"', "'"), content.replace("\\", "\\\\")):
        save = call("save_file", path=path, content=other)
        assert category(name, save, "It is done.") == "task.outcome:content"
