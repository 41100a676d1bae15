"""Questions about conversations with calls and results."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolreel_core._jsontext import Tree
from toolreel_core._probe import verdict
from toolreel_core._probe.histories import LONG, continuing, own_turn, tool_turn, user
from toolreel_core._probe.known_facts import Known
from toolreel_core._probe.question import Question
from toolreel_core._probe.questions.basics import BASICS, greeted
from toolreel_core._probe.questions.forms import CHAT

_FIRST: Final = (*BASICS, "tools", "tool_turn")
_TOOL_TURN: Final = (*_FIRST, "tool_turn_reasoning", "tool_turn_signature", "tool_turn_name")
HISTORY: Final = (*_TOOL_TURN, "content_null", "content_absent", "content_space")


def there_is_a_form(known: Known) -> bool:
    """Whether a turn with a call was taken in some form."""
    return not known.no_tool_turn


def _and_user(known: Known) -> tuple[Tree, ...]:
    return (*tool_turn(known), user("Thank you. Say bye."))


def _reasoned(known: Known) -> Tree:
    return greeted(known, **{known.reasoning: "I greet back."})


_about = partial(Question, group="history", judge=verdict.accepted)
_in_form = partial(_about, rests_on=HISTORY, when=there_is_a_form)

QUESTIONS: Final = (
    _about(
        "tool_turn",
        about="Is a call taken back, with empty content and a result?",
        build=continuing(partial(tool_turn, content="empty")),
        rests_on=(*BASICS, "tools"),
    ),
    _about(
        "tool_turn_reasoning",
        about="Is it taken with reasoning?",
        build=continuing(partial(tool_turn, content="empty", reasoning=" ")),
        rests_on=_FIRST,
        when=lambda known: known.no_tool_turn,
        forms=CHAT,
    ),
    _about(
        "tool_turn_signature",
        about="Is it taken with a signature?",
        build=continuing(partial(tool_turn, content="empty", signature=True)),
        rests_on=_FIRST,
        when=lambda known: known.no_tool_turn,
        forms=CHAT,
    ),
    _about(
        "tool_turn_name",
        about="Is it taken with the tool's name in its result?",
        build=continuing(partial(tool_turn, content="empty", name=True)),
        rests_on=_FIRST,
        when=lambda known: known.no_tool_turn,
        forms=CHAT,
    ),
    _about(
        "content_null",
        about="Is a call taken back with null as content?",
        build=continuing(partial(tool_turn, content="null")),
        rests_on=_TOOL_TURN,
        forms=CHAT,
    ),
    _about(
        "content_absent",
        about="Is a call taken back without content?",
        build=continuing(partial(tool_turn, content="omit")),
        rests_on=_TOOL_TURN,
        forms=CHAT,
    ),
    _about(
        "content_space",
        about="Is a call taken back with a space as content?",
        build=continuing(partial(tool_turn, content="space")),
        rests_on=(*_TOOL_TURN, "content_null", "content_absent"),
        when=lambda known: known.no_tool_turn,
        forms=CHAT,
    ),
    _in_form(
        "call_ids",
        about="Is an id in OpenAI's form taken?",
        build=continuing(partial(tool_turn, call_id=LONG)),
    ),
    _in_form("user_after_tool", about="May the user speak behind a result?", build=continuing(_and_user)),
    _about(
        "reasoning_echo",
        about="Is reasoning taken back?",
        build=_reasoned,
        rests_on=BASICS,
        when=lambda known: bool(known.reasoning),
        forms=CHAT,
    ),
    _about(
        "own_call",
        about="Is the model's own call taken back unchanged?",
        build=continuing(own_turn),
        rests_on=(*BASICS, "tools"),
        when=lambda known: bool(known.own_call),
        decides=False,
    ),
)
