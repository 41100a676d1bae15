from __future__ import annotations

import pytest

from toolreel_core._conversation.message import UserMessage
from toolreel_core._jsontext.canonical import Json, canonical, parse
from toolreel_core._protocol.outcome import Completed
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.packs.on_desk import at_desk, ordered, reads, takes, text
from toolreel_core.evals._worlds.desk import Answer, Desk, Order

LOOK = reads("look", "Look.", name=text("A name."))
BOOK = takes("book", "Book.", day=text("A day."))


def test_a_desk_notes_what_its_tools_do_and_answers_what_they_read() -> None:
    answer = Answer.of("look", {"name": "a"}, {})
    setting = at_desk("Please.", (LOOK, BOOK), (answer,))("any")
    assert setting.messages[-1] == UserMessage("Please.")
    assert setting.tools.names == ("look", "book")
    assert setting.world == Desk((answer,), ("book",))
    assert at_desk("Please.", (BOOK,))("1") == at_desk("Please.", (BOOK,))("2")


def test_all_arguments_are_required_and_no_others_allowed() -> None:
    assert parse(BOOK.parameters) == {
        "type": "object",
        "properties": {"day": {"type": "string", "description": "A day."}},
        "required": ["day"],
        "additionalProperties": False,
    }
    assert (LOOK.read_only, BOOK.read_only) == (True, False)


def seen(*arguments: Json) -> Evidence:
    orders = tuple(Order("book", canonical(one)) for one in arguments)
    return Evidence(Completed(""), "", (), Desk(orders=orders), None, tools_sent=True)


CHECK = ordered(("book", {"day": "x", "hours": 2, "extra": [1.5, None, True]}))


@pytest.mark.parametrize("hours", [2, 2.0])
def test_an_order_is_the_same_however_it_is_written(hours: float) -> None:
    given: Json = {"extra": [1.5, None, True], "hours": hours, "day": " x "}
    assert CHECK.finding(seen(given)) == ""


def test_too_few_orders_too_many_or_others_are_told() -> None:
    right: Json = {"day": "x", "hours": 2, "extra": [1.5, None, True]}
    assert CHECK.finding(seen()).startswith("expected the orders [")
    assert CHECK.finding(seen(right, right))
    assert CHECK.finding(seen({"day": "y", "hours": 2, "extra": [1.5, None, True]}))
    assert CHECK.finding(seen({"day": "x", "hours": 2, "extra": [1.5, None, 1]}))
