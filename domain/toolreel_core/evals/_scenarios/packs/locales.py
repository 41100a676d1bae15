"""Locales: numbers and names as they are written elsewhere, and the one right value that they mean."""

from __future__ import annotations

from typing import Final

from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._scenarios.packs.on_desk import at_desk, ordered, takes, text
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import ScenarioScripts, call, script

_TRANSFER: Final = takes(
    "transfer",
    "Transfer money in euros.",
    to=text("The name of who gets it, just as the user writes it."),
    amount={"type": "number", "description": "How much, in euros, such as 12.5."},
)


def _scenario(name: str, about: str, user: str, right: Tree, wrong: Tree, answer: str) -> Scenario:
    return Scenario(
        name,
        "locale",
        about,
        1,
        (),
        at_desk(user, (_TRANSFER,)),
        (ordered(("transfer", right)),),
        scripts=ScenarioScripts(
            script(call("transfer", **right), answer), script(call("transfer", **wrong), answer)
        ),
    )


LOCALES: Final = (
    _scenario(
        "decimal_comma",
        "A German amount, with a point between the thousands and a comma before the cents.",
        "Bitte überweise 1.234,50 Euro an Jörg Weiß.",
        {"to": "Jörg Weiß", "amount": 1234.5},
        {"to": "Jörg Weiß", "amount": 1.2345},
        "Das Geld ist unterwegs.",
    ),
    _scenario(
        "other_script",
        "A Japanese name and an amount in Japanese numerals.",
        "山田花子さんに三百二十ユーロを送金してください。宛名は「山田花子」でお願いします。",
        {"to": "山田花子", "amount": 320},
        {"to": "Yamada Hanako", "amount": 320},
        "送金しました。",
    ),
)
"""Not English."""
