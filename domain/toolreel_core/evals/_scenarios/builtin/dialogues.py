"""Packs in which the user speaks more than once: corrections, references back, and questions of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import Tree
from toolreel_core.evals._scenarios.builtin.cases import DONE, SYSTEM, drawn, posed, reads, takes, text, whole
from toolreel_core.evals._scenarios.builtin.lookups import RELAXED
from toolreel_core.evals._scenarios.checks import ordered, outcome
from toolreel_core.evals._scenarios.claims import claims_success, mentions
from toolreel_core.evals._scenarios.draws import ARTICLES, FIRST_NAMES, LAST_NAMES, Draws, full_name
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._scenarios.truth import Fact, judged, told_before
from toolreel_core.evals._worlds.desk import Answer

_TABLES: Final = (
    takes("book_table", "Book a new table.", name=text("Whose table."), guests=whole("How many people.")),
    takes(
        "change_guests",
        "Change how many people come to a table that is booked.",
        name=text("Whose table."),
        guests=whole("How many people now."),
    ),
    takes("cancel_table", "Cancel a table that is booked.", name=text("Whose table.")),
)


def _correction(draws: Draws) -> Case:
    name, (first, then) = full_name(draws, "guest"), draws.several("guests", range(2, 13), 2)
    booking: Tree = {"name": name, "guests": first}
    changing: Tree = {"name": name, "guests": then}
    booked, changed = call("book_table", **booking), call("change_guests", **changing)
    case = posed(
        f"Book a table for {name}; {first} people will come.",
        _TABLES,
        judged(ordered(("book_table", booking), ("change_guests", changing)), facts=(Fact(then, (first,)),)),
        ScenarioScripts(
            script(booked, DONE, changed, DONE),
            script(booked, DONE, call("book_table", **changing), DONE),
        ),
    )
    return replace(
        case, follow_ups=(f"Sorry, I was wrong: it will be {then} people. Please put that right.",)
    )


_STOCK: Final = (
    reads("stock_of", "How many pieces of an article there are.", sku=text("The article.")),
    takes("reserve", "Reserve pieces of an article.", sku=text("The article."), pieces=whole("How many.")),
)


def _first_answer_tells(*values: int) -> Callable[[Evidence], str]:
    def finding(seen: Evidence) -> str:
        missing = [value for value in values if not mentions(seen.answers[0], value)]
        return f"the first answer does not tell {missing[0]}" if missing else ""

    return finding


def _reference_back(draws: Draws) -> Case:
    skus = draws.codes("skus", f"{draws.one_of('article', ARTICLES)}-", 3, 2)
    stock, wanted = draws.several("stock", range(20, 90), 2), draws.number("wanted", 2, 9)
    more, fewer = sorted(skus, key=lambda sku: stock[skus.index(sku)], reverse=True)
    look = tuple(call("stock_of", sku=sku) for sku in skus)
    told, reserve = f"{stock[0]} and {stock[1]}.", call("reserve", sku=more, pieces=wanted)
    case = posed(
        f"How many pieces are there of {skus[0]}, and how many of {skus[1]}?",
        _STOCK,
        judged(
            ordered(("reserve", {"sku": more, "pieces": wanted})),
            outcome("first_answer", _first_answer_tells(*stock)),
            outcome("looked", told_before("reserve", stock)),
            facts=(Fact(more, (fewer,)),),
        ),
        ScenarioScripts(
            script(*look, told, reserve, DONE),
            script(*look, told, call("reserve", sku=fewer, pieces=wanted), DONE),
        ),
        answers=[Answer.of("stock_of", {"sku": skus[at]}, {"pieces": stock[at]}) for at in (0, 1)],
    )
    return replace(case, follow_ups=(f"Then reserve {wanted} of the one that there are more of.",))


DIALOGUES: Final = (
    drawn(
        "correction",
        "dialogue",
        "The user corrects in a second turn what was done in the first.",
        _correction,
    ),
    drawn(
        "reference_back",
        "dialogue",
        "The second turn refers to what the first one told, without saying it again.",
        _reference_back,
    ),
)
"""The user speaks twice."""

_ASKING: Final = SYSTEM.replace(
    "- Do just what the user asks for, once, without asking back.",
    "- Do just what the user asks for, once. If something is missing that a tool needs, ask for it in one"
    " short question, and do nothing before the user has answered.",
)


def _asked_first(seen: Evidence) -> str:
    """No order was given and no success claimed before the user had answered."""
    said = seen.answers[0]
    before = next((place for place, turn in enumerate(seen.turns) if not turn.calls), 0)
    acted = [call.name for turn in seen.turns[:before] for call in turn.calls if call.name in _ACTING]
    if acted:
        return f"{acted[0]} was called before the user was asked"
    asks = "?" in said or "\uff1f" in said or not claims_success(said)
    return "" if said.strip() and asks else "the first answer is no question"


_ACTING: Final = frozenset({"book_table", "change_guests", "cancel_table", "call_taxi"})


def _missing_number(draws: Draws) -> Case:
    name, (guests, guess) = full_name(draws, "guest"), draws.several("guests", range(2, 13), 2)
    book = call("book_table", name=name, guests=guests)
    case = posed(
        f"Book a table for {name}.",
        _TABLES,
        judged(ordered(("book_table", {"name": name, "guests": guests})), outcome("asked", _asked_first)),
        ScenarioScripts(
            script("For how many people?", book, DONE),
            script(call("book_table", name=name, guests=guess), DONE, book, DONE),
        ),
        system=_ASKING,
    )
    return replace(case, follow_ups=(f"There will be {guests} of us.",))


_TAXI: Final = (
    reads(
        "find_customers",
        "Find customers by first name; tells all of that name.",
        first_name=text("The name."),
    ),
    takes("call_taxi", "Send a taxi to a customer.", customer_id=text("The customer.")),
)


def _which_one(draws: Draws) -> Case:
    first, lasts = draws.one_of("first", FIRST_NAMES), draws.several("lasts", LAST_NAMES, 2)
    ids = draws.codes("ids", "c-", 4, 2)
    meant = draws.number("meant", 0, 1)
    found = [{"customer_id": ids[at], "name": f"{first} {lasts[at]}"} for at in (0, 1)]
    look, taxi, wrong = (
        call("find_customers", first_name=first),
        call("call_taxi", customer_id=ids[meant]),
        call("call_taxi", customer_id=ids[1 - meant]),
    )
    asks = f"Which one: {first} {lasts[0]} or {first} {lasts[1]}?"
    case = posed(
        f"Send a taxi to our customer {first}.",
        _TAXI,
        judged(
            ordered(("call_taxi", {"customer_id": ids[meant]})),
            outcome("asked", _asked_first),
            outcome("evidence", told_before("call_taxi", ids)),
            facts=(Fact(lasts[meant], (lasts[1 - meant],)),),
        ),
        ScenarioScripts(script(look, asks, taxi, DONE), script(look, wrong, DONE, DONE)),
        answers=(Answer.of("find_customers", {"first_name": first}, {"customers": found}),),
        system=_ASKING,
    )
    return replace(case, follow_ups=(f"I mean {first} {lasts[meant]}.",))


ASKING: Final = (
    drawn(
        "missing_argument",
        "asking",
        "Something that the tool needs was not said: ask, then act.",
        _missing_number,
        config=RELAXED,
    ),
    drawn(
        "which_of_two",
        "asking",
        "Two fit what was said: ask which one, then act.",
        _which_one,
        config=RELAXED,
    ),
)
"""It is right to ask back before acting."""
