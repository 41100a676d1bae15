"""Questions about the form of requests: everything else is asked in the form that they settle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from toolreel_core._jsontext import Json, Tree
from toolreel_core._probe import verdict
from toolreel_core._probe.histories import user
from toolreel_core._probe.known_facts import ENCRYPTED, SPOKEN, Known
from toolreel_core._probe.question import Question
from toolreel_core._probe.tools import LOOKUP, entry
from toolreel_core._settings import WireForm

OK: Final = "Reply with the word ok and nothing else."
LOOK_UP: Final = "Call the tool lookup with the key alpha."
LOOKUP_ENTRY: Final = entry(LOOKUP)
CHAT: Final[frozenset[WireForm]] = frozenset({"chat_completions"})
"""For what the other forms have no word, or one of their own that is not in doubt."""
CHAT_AND_RESPONSES: Final[frozenset[WireForm]] = frozenset({"chat_completions", "responses"})
SETTLES_FORM: Final = ("plain", "responses", "responses_reasoning", "messages", "messages_thinking")

_BUDGET: Final = 1024
"""Tokens to think, the fewest that Anthropic takes."""


def _responses(_: Known) -> Tree:
    function: Tree = {"type": "function", "strict": False, **_function()}
    return {"input": [user(LOOK_UP)], "tools": [function], "store": False, "max_output_tokens": 1024}


def _messages(_: Known) -> Tree:
    function = {key: value for key, value in _function().items() if key != "parameters"}
    tool: Tree = {**function, "input_schema": _function().get("parameters")}
    return {"messages": [user(LOOK_UP)], "tools": [tool], "max_tokens": 1024}


def _function() -> Mapping[str, Json]:
    function = LOOKUP_ENTRY["function"]
    return function if isinstance(function, Mapping) else {}


def _encrypted(known: Known) -> Tree:
    return {**_responses(known), "include": [*ENCRYPTED]}


def _thinking(known: Known) -> Tree:
    thinking: Tree = {"type": "enabled", "budget_tokens": _BUDGET}
    return {**_messages(known), "max_tokens": 2 * _BUDGET, "thinking": thinking}


_about = partial(Question, group="forms", judge=verdict.speaks, rests_on=("plain",), decides=False)

QUESTIONS: Final = (
    Question(
        "plain",
        "basics",
        about="Does it answer a plain question?",
        build=lambda _: {"messages": [user(OK)]},
        judge=verdict.accepted,
        decides=False,
        rests_on=(),
        own_form="chat_completions",
    ),
    _about("responses", about="Does it speak Responses?", build=_responses, own_form="responses"),
    _about(
        "responses_reasoning",
        about="Does reasoning come with it that can go back?",
        build=_encrypted,
        judge=verdict.only_here,
        rests_on=("responses",),
        when=lambda known: known.is_("responses", *SPOKEN),
        own_form="responses",
    ),
    _about("messages", about="Does it speak Messages?", build=_messages, own_form="messages"),
    _about(
        "messages_thinking",
        about="Does thinking come with it that can go back?",
        build=_thinking,
        judge=verdict.only_here,
        rests_on=("messages",),
        when=lambda known: known.is_("messages", *SPOKEN),
        own_form="messages",
    ),
)
