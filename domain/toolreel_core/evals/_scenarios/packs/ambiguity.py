"""Ambiguity: what the user says has to be brought into the form that a tool takes."""

from __future__ import annotations

from typing import Final

from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._scenarios.packs.on_desk import at_desk, ordered, takes, text
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import ScenarioScripts, call, script

_BOOKING: Final = takes(
    "book_room",
    "Book a meeting room for one day.",
    day={"type": "string", "description": "The day as YYYY-MM-DD."},
    minutes={"type": "integer", "description": "How long, in minutes."},
    size={"type": "string", "enum": ["S", "M", "L"], "description": "S up to 4 people, M up to 10, L more."},
)
_HEATING: Final = takes(
    "set_heating",
    "Set the heating of a room.",
    room=text("The room, in lower case."),
    celsius={"type": "number", "description": "The temperature in degrees Celsius."},
    mode={"type": "string", "enum": ["eco", "comfort", "frost_guard"], "description": "How to heat."},
)


def _scenario(name: str, about: str, user: str, tool: str, right: Tree, wrong: Tree) -> Scenario:
    return Scenario(
        name,
        "ambiguity",
        about,
        1,
        (),
        at_desk(user, (_BOOKING, _HEATING)),
        (ordered((tool, right)),),
        scripts=ScenarioScripts(
            script(call(tool, **right), "It is done."), script(call(tool, **wrong), "It is done.")
        ),
    )


AMBIGUITY: Final = (
    _scenario(
        "date_and_size",
        "A date in words, a length in hours, a size as a number of people.",
        "Today is Monday, 2 March 2026. Book a meeting room for Thursday of next week, for an hour and a"
        " half; there will be seven of us.",
        "book_room",
        {"day": "2026-03-12", "minutes": 90, "size": "M"},
        {"day": "2026-03-05", "minutes": 90, "size": "M"},
    ),
    _scenario(
        "unit_and_mode",
        "A temperature in another unit, and a mode in other words.",
        "Put the heating in the Kitchen to 68 degrees Fahrenheit, in the mode that saves energy.",
        "set_heating",
        {"room": "kitchen", "celsius": 20, "mode": "eco"},
        {"room": "kitchen", "celsius": 68, "mode": "eco"},
    ),
)
"""Each has one right reading."""
