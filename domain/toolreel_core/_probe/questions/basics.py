"""Questions about messages and options; the others rest on the first ones."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolreel_core._jsontext import Tree
from toolreel_core._probe import verdict
from toolreel_core._probe.histories import Body, asking, user
from toolreel_core._probe.known_facts import Known
from toolreel_core._probe.question import Question
from toolreel_core._probe.questions.forms import CHAT, CHAT_AND_RESPONSES, OK, SETTLES_FORM

BASICS: Final = (*SETTLES_FORM, "max_tokens", "max_completion_tokens", "temperature")
"""The questions whose answers decide what each other request has."""
PLAIN_TURN: Final = (*BASICS, "assistant_turn", "assistant_turn_reasoning")

_COUNT: Final = "Write the numbers from 1 to 60, separated by commas."
_SYSTEM: Final[Tree] = {"role": "system", "content": "You are brief."}
_DEVELOPER: Final[Tree] = {"role": "developer", "content": "You are brief."}
_POLITE: Final[Tree] = {"role": "system", "content": "You are polite."}


def greeted(known: Known, *further: Tree, **reasoning: str) -> Tree:
    """A conversation with an answer of the model."""
    needed = {"reasoning_content": " "} if known.is_("assistant_turn_reasoning", "accepted") else {}
    hello: Tree = {"role": "assistant", "content": "Hello.", **(reasoning or needed)}
    return asking(user("Hello."), hello, *further, user(OK))(known)


def _late_system(known: Known) -> Tree:
    return greeted(known, _POLITE)


def _capped(field: str) -> Body:
    return lambda _: {"messages": [user(_COUNT)], field: 8}


def _at(temperature: float) -> Body:
    return lambda known: {**asking(user(OK))(known), "temperature": temperature}


_about = partial(Question, group="basics", judge=verdict.accepted, rests_on=BASICS)

QUESTIONS: Final = (
    _about(
        "max_tokens",
        about="Does max_tokens limit the reply?",
        build=_capped("max_tokens"),
        judge=verdict.limit_of_8,
        rests_on=SETTLES_FORM,
    ),
    _about(
        "max_completion_tokens",
        about="Does max_completion_tokens limit the reply?",
        build=_capped("max_completion_tokens"),
        forms=CHAT,
        judge=verdict.limit_of_8,
        rests_on=SETTLES_FORM,
    ),
    _about("temperature", about="Is the temperature 0 taken?", build=_at(0), rests_on=BASICS[:-1]),
    _about(
        "temperature_high",
        about="Is a temperature above 1 taken?",
        build=_at(1.5),
        forms=CHAT_AND_RESPONSES,
    ),
    _about("assistant_turn", about="Is an answer taken back without reasoning?", build=greeted),
    _about(
        "assistant_turn_reasoning",
        about="Is it taken back with reasoning?",
        build=partial(greeted, reasoning_content=" "),
        rests_on=(*BASICS, "assistant_turn"),
        when=lambda known: known.is_("assistant_turn", "refused"),
        forms=CHAT,
    ),
    _about(
        "two_systems",
        about="Are two system messages taken?",
        build=asking(_SYSTEM, _POLITE, user(OK)),
        forms=CHAT_AND_RESPONSES,
    ),
    _about(
        "late_system",
        about="Is a system message taken behind other messages?",
        build=_late_system,
        forms=CHAT_AND_RESPONSES,
        rests_on=PLAIN_TURN,
    ),
    _about(
        "developer_role",
        about="Is the role developer taken?",
        build=asking(_DEVELOPER, user(OK)),
        forms=CHAT,
        decides=False,
    ),
)
