"""Packs of long conversations: thirty turns are there at the beginning, and a window that is too small."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolreel_core._conversation import AssistantMessage, Message, UserMessage
from toolreel_core.evals._scenarios.builtin.cases import DONE, drawn, posed, reads, takes, text
from toolreel_core.evals._scenarios.checks import ordered, outcome
from toolreel_core.evals._scenarios.draws import LAST_NAMES, WORDS, Draws
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import Line, ScenarioScripts, Script, call
from toolreel_core.evals._scenarios.truth import Fact, judged, read_before_used
from toolreel_core.evals._worlds.desk import Answer

_TURNS: Final = 30
_TOPICS: Final = (
    *("the weather at the coast", "a recipe for soup", "how bridges are built", "an old film", "bicycles"),
    *("the garden", "a train journey", "birds in winter", "how clocks work", "a song from the radio"),
)
_FILLER: Final = (
    "There is a lot to be said about it, and most of it depends on where one is and on the season. "
)

_TICKETS: Final = (
    reads(
        "find_contract",
        "The contract of a customer; tells the contract_id.",
        customer_id=text("The customer."),
    ),
    takes(
        "open_ticket",
        "Open a ticket for a contract.",
        contract_id=text("The contract."),
        title=text("The title, just as the user gives it."),
    ),
)


def _small_talk(draws: Draws, filler: int) -> list[Message]:
    """Questions and answers that have nothing to do with the task."""
    messages = list[Message]()
    for turn in range(_TURNS - 1):
        topic, of = draws.one_of(f"topic {turn}", _TOPICS), draws.one_of(f"word {turn}", WORDS)
        messages.append(UserMessage(f"Tell me something about {topic}, and about {of}."))
        messages.append(AssistantMessage(f"About {topic} and {of}: {_FILLER * filler}".strip()))
    return messages


def _of_long_ago(draws: Draws, *, place: int | None, filler: int) -> Case:
    """A number that was told in an early turn is needed in the last one.

    :param place: the turn that told it; any, if there is none given
    """
    customers, contracts = draws.codes("customers", "c-", 5, 3), draws.codes("contracts", "k-", 5, 3)
    told = 2 * (draws.number("place", 3, 20) if place is None else place)
    owners = draws.several("owners", LAST_NAMES, 2)
    history = _small_talk(draws, filler)
    history[told:told] = [
        UserMessage(f"By the way, my own customer number is {customers[0]}."),
        AssistantMessage("Thank you, I will remember it."),
    ]
    history += [
        UserMessage(f"My neighbours {owners[0]} and {owners[1]} have {customers[1]} and {customers[2]}."),
        AssistantMessage("I see."),
    ]
    title = f"{draws.one_of('thing', WORDS)} is broken"
    user = f'Now open a ticket with the title "{title}" for my own contract; you know my customer number.'
    look = call("find_contract", customer_id=customers[0])
    ticket = [call("open_ticket", contract_id=contract, title=title) for contract in contracts]
    case = posed(
        user,
        _TICKETS,
        judged(
            ordered(("open_ticket", {"contract_id": contracts[0], "title": title})),
            outcome("evidence", read_before_used("open_ticket", values=contracts)),
            facts=(Fact(customers[0], customers[1:]), Fact(contracts[0], contracts[1:])),
        ),
        ScenarioScripts(
            _later(user, look, ticket[0], DONE),
            _later(user, call("find_contract", customer_id=customers[1]), ticket[1], DONE),
        ),
        answers=[
            Answer.of("find_contract", {"customer_id": customer}, {"contract_id": contract})
            for customer, contract in zip(customers, contracts, strict=True)
        ],
    )
    return replace(case, messages=(case.messages[0], *history, case.messages[-1]))


def _later(user: str, *lines: Line) -> Script:
    return Script(lines, since=user)


def _thirty_turns(draws: Draws) -> Case:
    return _of_long_ago(draws, place=None, filler=1)


def _overflow(draws: Draws) -> Case:
    # What the user said first is never dropped.
    return _of_long_ago(draws, place=0, filler=6)


LONG: Final = (
    drawn(
        "thirty_turns",
        "long",
        "A number that was told once in thirty turns is needed at the end.",
        _thirty_turns,
    ),
    drawn(
        "window_overflows",
        "long",
        "Thirty turns that do not fit the window: the oldest are dropped, but what was said first stays.",
        _overflow,
        config={
            "context_window_tokens": 3_000,
            "reserved_response_tokens": 500,
            "history_policies": ["keep_newest_turns"],
        },
    ),
)
"""A long conversation comes before the task."""
