"""All questions of a probe, in the order in which they are asked."""

from __future__ import annotations

from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._probe.question import Question
from toolreel_core._probe.questions import basics, calls, forms, history, others

QUESTIONS: Final = (
    *forms.QUESTIONS,
    *basics.QUESTIONS,
    *calls.QUESTIONS,
    *history.QUESTIONS,
    *others.QUESTIONS,
)
"""All of them. Each rests only on questions before it."""

_BY_NAME: Final = {each.name: each for each in QUESTIONS}
_GROUPS: Final = {
    each.group: tuple(one for one in QUESTIONS if one.group == each.group) for each in QUESTIONS
}


def selected(names: tuple[str, ...] = ()) -> tuple[Question, ...]:
    """The questions with these names, or of groups with them, and those that they rest on; all without names.

    >>> [each.name for each in selected(("temperature",))]  # doctest: +ELLIPSIS
    ['plain', 'responses', 'responses_reasoning', 'messages', 'messages_thinking', ...]

    :raises ConfigError: if a name is neither
    """
    chosen = dict.fromkeys(each for name in names for each in _named(name))
    for one in reversed(QUESTIONS):  # what a question rests on is before it
        chosen |= dict.fromkeys(_BY_NAME[rest] for rest in one.rests_on) if one in chosen else {}
    return tuple(each for each in QUESTIONS if not names or each in chosen)


def _named(name: str) -> tuple[Question, ...]:
    if name in _GROUPS:
        return tuple(each for each in QUESTIONS if each.group == name)
    if name not in _BY_NAME:
        raise ConfigError(unknown_name("question", name, (*_BY_NAME, *_GROUPS)))
    return (_BY_NAME[name],)
