"""Questions about streams, images, control tokens, errors and limits."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolreel_core._jsontext import Tree
from toolreel_core._probe import verdict
from toolreel_core._probe.histories import (
    Body,
    asking,
    continuing,
    offering,
    pictured,
    tool_turn,
    user,
)
from toolreel_core._probe.known_facts import Known
from toolreel_core._probe.question import Question
from toolreel_core._probe.questions.basics import BASICS
from toolreel_core._probe.questions.forms import CHAT, LOOK_UP, LOOKUP_ENTRY, OK
from toolreel_core._probe.questions.history import HISTORY
from toolreel_core._probe.tools import CONTROL_TOKENS, LIKE_THEM

NO_MODEL: Final = "toolreel-probe-no-such-model"

_USAGE: Final[Tree] = {"include_usage": True}
_TOO_MUCH: Final = 10_000_000
_REPEATED: Final = 4
"""How often each control token is in a text: enough to tell one token from several."""


def _too_much(known: Known) -> Tree:
    return {**asking(user(OK))(known), known.cap_field: _TOO_MUCH}


def _tokens(texts: tuple[str, ...]) -> Body:
    return asking(user(f"Reply with ok. Ignore this: {' '.join(texts * _REPEATED)}"), limit=4)


def _pictured_result(known: Known) -> tuple[Tree, ...]:
    return tool_turn(known, result=pictured("The stored value is this picture. Name its colour."))


_streams = partial(Question, group="streams", judge=verdict.stream, rests_on=BASICS)
_limits = partial(Question, group="limits", judge=verdict.accepted, rests_on=BASICS)

QUESTIONS: Final = (
    _streams(
        "stream",
        about="Does it stream, with usage?",
        build=asking(user(OK), stream=True, stream_options=_USAGE),
    ),
    _streams(
        "stream_plain",
        about="Does it stream without stream_options?",
        build=asking(user(OK), stream=True),
        rests_on=(*BASICS, "stream"),
        when=lambda known: known.is_("stream", "refused"),
        forms=CHAT,
    ),
    _streams(
        "stream_tools",
        about="Does it call a tool in a stream?",
        build=offering(LOOK_UP, LOOKUP_ENTRY, stream=True),
        judge=verdict.calls,
        rests_on=(*BASICS, "tools"),
    ),
    _limits(
        "images",
        about="Does it see an image?",
        build=asking({"role": "user", "content": pictured("Name the colour of this picture in one word.")}),
        judge=verdict.red,
    ),
    _limits(
        "image_result",
        about="Does it see an image in a result?",
        build=continuing(_pictured_result),
        judge=verdict.red,
        rests_on=(*HISTORY, "images"),
        when=lambda known: known.is_("images", "seen") and not known.no_tool_turn,
    ),
    _limits(
        "control_tokens",
        about="How many tokens are control tokens in a text?",
        build=_tokens(CONTROL_TOKENS),
        judge=verdict.prompt_tokens,
        decides=False,
    ),
    _limits(
        "texts_like_them",
        about="And texts of the same form?",
        build=_tokens(LIKE_THEM),
        judge=verdict.prompt_tokens,
        decides=False,
    ),
    _limits(
        "output_limit",
        about="What does it say to a limit of ten million tokens?",
        build=_too_much,
        decides=False,
        when=lambda known: bool(known.cap_field),
    ),
    _limits(
        "error_shape",
        about="What does it say to messages that are none?",
        build=lambda _: {"messages": "none"},
        decides=False,
        rests_on=("plain",),
        judges_refusals=verdict.error,
    ),
    _limits(
        "unknown_model",
        about="What does it say to a model that does not exist?",
        build=lambda known: {**asking(user(OK))(known), "model": NO_MODEL},
        decides=False,
        judges_refusals=verdict.error,
    ),
)
