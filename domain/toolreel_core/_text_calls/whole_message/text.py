"""Messages that name a tool in a line of its own: ReAct, GLM-4-9B, Functionary 3.2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolreel_core._jsontext.json_repair import Flaw, value_at
from toolreel_core._text_calls.decoder import Found, Rejection, found
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.payload import skip_blanks
from toolreel_core._text_calls.whole_message.reader import Whole, is_paragraph

# GLM-4-9B: the name, a line break, the object.
_NAME_LINE: Final = re.compile(r"(?P<name>[\w.:-]{1,200})[ \t]*\r?\n\s*(?={)")
# Functionary 3.2: `>>>` opens a section at the head of a line only.
_SECTION: Final = re.compile(r"(?:\A|\n)>>>")
# ReAct: lines of their own; the input may stand in a code fence.
_ACTION: Final = re.compile(
    r"^[ \t]*Action:[ \t]*(?P<name>[^\n]{1,200}?)[ \t]*\n\s*Action Input:[ \t]*(?:\n?```\w*)?\s*",
    re.MULTILINE,
)
_THOUGHT: Final = re.compile(r"^[ \t]*Thought:[ \t]*", re.MULTILINE)
# What follows the input: the end of its fence, and a result that the model has made up.
_AFTER: Final = re.compile(r"\s*(?:```)?\s*(?P<result>Observation:)?")


def name_and_json(source: Source) -> Whole | None:
    """GLM-4-9B's message: a name, and an object in the next line."""
    head = _NAME_LINE.match(source.text)
    call = _call(source, head["name"], head.end(), "glm4_name_json") if head else None
    return Whole((call,)) if call else None


def functionary(source: Source) -> Whole | None:
    """Functionary's message: sections for tools, and ``>>>all`` for the user."""
    if not source.text.startswith(">>>"):
        return None
    calls: list[Found] = []
    said: list[str] = []
    for section in _SECTION.split(source.text)[1:]:
        name, _, body = section.strip().partition("\n")
        if name.strip() == "all":
            said.append(body.strip())
            continue
        inner = Source(section.strip(), source.offered, source.enabled, cut=False)
        call = _call(inner, name, len(name) + 1, "functionary_v32")
        if call is None:
            return None
        calls.append(call)
    return Whole(tuple(calls), "\n".join(said)) if calls else None


def react(source: Source) -> Whole | None:
    """ReAct's message: a thought, an action, and its input; what it observes, the model has made up."""
    action = _ACTION.search(source.text) if "Action Input:" in source.text else None
    if action is None:
        return None
    lead, *thoughts = _THOUGHT.split(source.text[: action.start()])
    name = source.offered.named(action["name"].strip("[]*"))
    if (
        name not in source.offered.names
        or not is_paragraph(lead)
        or "Final Answer:" in source.text[: action.start()]
    ):
        return None
    at = action.end()
    value = value_at(source, at)
    if source.text.startswith("{", at) and not isinstance(value, Flaw) and isinstance(value.tree, Mapping):
        given, at = value.tree, value.end
    elif at == len(source.text) or source.text.startswith("Observation:", at):
        given = {}
    else:
        return None
    after = _AFTER.match(source.text, at)
    if after is None or not (after["result"] or after.end() == len(source.text)):
        return None
    call = found(name, given, "react")
    thought = "\n".join(text.strip() for text in thoughts)
    rejected: tuple[Rejection, ...] = ("fabricated_result",) if after["result"] else ()
    return Whole((call,), lead.strip(), thought, rejected) if call else None


def _call(source: Source, raw: str, at: int, dialect: str) -> Found | None:
    """The call of a known tool whose arguments are all that is left of the text."""
    name = source.offered.named(raw)
    value = value_at(source, at)
    if name not in source.offered.names or isinstance(value, Flaw) or not isinstance(value.tree, Mapping):
        return None
    return (
        found(name, value.tree, dialect) if skip_blanks(source.text, value.end) == len(source.text) else None
    )
