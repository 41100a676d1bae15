"""Choice: the one tool that is meant, among fifty that look alike."""

from __future__ import annotations

from itertools import product
from typing import Final

from toolreel_core.evals._scenarios.packs.on_desk import at_desk, ordered, takes, text
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import ScenarioScripts, call, script

_DEEDS: Final = ("create", "update", "archive", "restore", "export")
_THINGS: Final = (
    *("invoice", "customer", "order", "ticket", "product"),
    *("supplier", "contract", "shipment", "employee", "report"),
)
_TOOLS: Final = tuple(
    takes(f"{deed}_{thing}", f"{deed.capitalize()} one {thing} by its number.", number=text("Its number."))
    for thing, deed in product(_THINGS, _DEEDS)
)


def _scenario(name: str, about: str, user: str, right: str, wrong: str, number: str) -> Scenario:
    return Scenario(
        name,
        "choice",
        about,
        1,
        (),
        at_desk(user, _TOOLS),
        (ordered((right, {"number": number})),),
        scripts=ScenarioScripts(
            script(call(right, number=number), "It is done."),
            script(call(wrong, number=number), "It is done."),
        ),
    )


CHOICE: Final = (
    _scenario(
        "one_of_fifty",
        "The tool is named in the user's own words.",
        "Please archive the contract K-204.",
        "archive_contract",
        "archive_customer",
        "K-204",
    ),
    _scenario(
        "one_of_fifty_reworded",
        "The tool has to be found by what is meant.",
        "The support request 8812 was put away by mistake. Bring it back.",
        "restore_ticket",
        "restore_order",
        "8812",
    ),
)
"""Fifty tools each."""
