"""Basics: tasks that one or two plain calls do, for models that can do little more.

Without them, a small model fails everything, and nothing can be told of what a strategy does for it.
"""

from __future__ import annotations

from typing import Final

from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._scenarios.packs.on_desk import at_desk, ordered, takes, text
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import ScenarioScripts, call, script

_NOTE: Final = takes("add_note", "Add one note to the list.", note=text("The words of the note."))
_LAMP: Final = takes(
    "switch_lamp",
    "Switch one lamp on or off.",
    room=text("The room, in lower case."),
    on={"type": "boolean", "description": "true for on, false for off."},
)
_ALARM: Final = takes(
    "set_alarm",
    "Set one alarm.",
    hour={"type": "integer", "minimum": 0, "maximum": 23, "description": "The hour."},
    minute={"type": "integer", "minimum": 0, "maximum": 59, "description": "The minute."},
)


def _scenario(name: str, about: str, user: str, wrong: Tree, *orders: tuple[str, Tree]) -> Scenario:
    """The wrong model gets the arguments of the last order wrong."""
    *first, (tool, _) = orders
    before = [call(each, **arguments) for each, arguments in first]
    return Scenario(
        name,
        "basics",
        about,
        1,
        (),
        at_desk(user, (_NOTE, _LAMP, _ALARM)),
        (ordered(*orders),),
        scripts=ScenarioScripts(
            script(*(call(each, **arguments) for each, arguments in orders), "It is done."),
            script(*before, call(tool, **wrong), "It is done."),
        ),
    )


BASICS: Final = (
    _scenario(
        "one_text",
        "One call with one text, which the user gives word by word.",
        'Add the note "buy milk".',
        {"note": "buy bread"},
        ("add_note", {"note": "buy milk"}),
    ),
    _scenario(
        "one_switch",
        "One call with a text and a boolean.",
        "Switch the lamp in the kitchen on.",
        {"room": "kitchen", "on": False},
        ("switch_lamp", {"room": "kitchen", "on": True}),
    ),
    _scenario(
        "two_numbers",
        "One call with two integers.",
        "Set an alarm for 6:45.",
        {"hour": 18, "minute": 45},
        ("set_alarm", {"hour": 6, "minute": 45}),
    ),
    _scenario(
        "one_after_another",
        "Two calls that have nothing to do with each other.",
        'Switch the lamp in the hall off, and then add the note "lock the door".',
        {"note": "open the door"},
        ("switch_lamp", {"room": "hall", "on": False}),
        ("add_note", {"note": "lock the door"}),
    ),
)
"""From one call to two."""
