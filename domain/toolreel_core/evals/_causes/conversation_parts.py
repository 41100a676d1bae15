"""The parts of a case that can be left out: lines of the prompt, tools, properties and descriptions.

Parts are named by their places, so that a list of names means the same in every trial, and can be stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from toolreel_core._conversation.message import Message, SystemMessage, UserMessage
from toolreel_core._jsontext.canonical import Json, JsonText, Tree, canonical, parse
from toolreel_core._jsontext.tree_access import as_tree
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition
from toolreel_core.evals._scenarios.scenario import Case, Scenario

_EXCERPT: Final = 100


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a case."""

    name: str
    """Its place: ``message 1 line 2``, ``tool transfer``, ``tool transfer property note``, ``tool transfer
    description``, ``tool transfer property note description``."""
    text: str
    """What it says, shortened to one line."""
    inside: str = ""
    """The part that it goes with when that is left out; empty: none."""


def parts_of(case: Case) -> tuple[Part, ...]:
    """All parts of a case; lines of the model's own messages and of results are none."""
    return (*_lines(case.messages), *(part for tool in case.tools.definitions for part in _of_tool(tool)))


def without(case: Case, names: Collection[str]) -> Case:
    """The case without some of its parts; a message without lines is left out.

    :param names: of parts; names of parts that it does not have mean nothing
    """
    left_out = frozenset(names)
    messages = tuple(
        shorter
        for place, message in enumerate(case.messages, 1)
        if (shorter := _without_lines(message, place, left_out)) is not None
    )
    tools = (tool for tool in case.tools.definitions if _tool(tool.name) not in left_out)
    surface = ToolSurface(tuple(_smaller(tool, left_out) for tool in tools), case.tools.masked)
    return replace(case, messages=messages, tools=surface)


def smaller_scenario(scenario: Scenario, names: Collection[str]) -> Scenario:
    """The scenario without some parts of its cases."""
    kept = frozenset(names)
    return replace(scenario, begin=lambda seed: without(scenario.begin(seed), kept)) if kept else scenario


def askable(case: Case) -> bool:
    """Whether there is a user who says something."""
    return any(isinstance(message, UserMessage) for message in case.messages)


def _lines(messages: tuple[Message, ...]) -> Iterator[Part]:
    for place, message in enumerate(messages, 1):
        if _has_lines(message):
            for number, line in enumerate(message.content.split("\n"), 1):
                yield Part(_line(place, number), _cut(line))


def _without_lines(message: Message, place: int, left_out: frozenset[str]) -> Message | None:
    if not _has_lines(message):
        return message
    lines = message.content.split("\n")
    kept = [line for number, line in enumerate(lines, 1) if _line(place, number) not in left_out]
    if len(kept) == len(lines):
        return message
    return replace(message, content="\n".join(kept)) if kept else None


def _has_lines(message: Message) -> TypeGuard[SystemMessage | UserMessage]:
    """Whether it is a text of the caller's; pictures and sound with a text make one whole of it."""
    return isinstance(message, SystemMessage) or (isinstance(message, UserMessage) and not message.parts)


def _of_tool(tool: ToolDefinition) -> Iterator[Part]:
    name = _tool(tool.name)
    yield Part(name, _cut(tool.description))
    if tool.description:
        yield Part(f"{name} description", _cut(tool.description), name)
    for key, schema in _properties(tool.parameters).items():
        inner = f"{name} property {key}"
        yield Part(inner, _cut(canonical(schema)), name)
        if described := as_tree(schema).get("description"):
            yield Part(f"{inner} description", _cut(str(described)), inner)


def _smaller(tool: ToolDefinition, left_out: frozenset[str]) -> ToolDefinition:
    name = _tool(tool.name)
    description = "" if f"{name} description" in left_out else tool.description
    if not any(part.startswith(f"{name} property ") for part in left_out):
        return replace(tool, description=description)
    schema = as_tree(parse(tool.parameters))
    kept: dict[str, Json] = {}
    for key, inner in _properties(tool.parameters).items():
        place = f"{name} property {key}"
        if place not in left_out:
            kept[key] = _undescribed(inner) if f"{place} description" in left_out else inner
    required = schema.get("required")
    needed: dict[str, Json] = (
        {"required": [key for key in required if key in kept]} if isinstance(required, list | tuple) else {}
    )
    return replace(
        tool, description=description, parameters=canonical({**schema, "properties": kept, **needed})
    )


def _undescribed(schema: Json) -> Tree:
    return {key: value for key, value in as_tree(schema).items() if key != "description"}


def _properties(parameters: JsonText) -> Mapping[str, Json]:
    return as_tree(as_tree(parse(parameters)).get("properties"))


def _line(message: int, line: int) -> str:
    return f"message {message} line {line}"


def _tool(name: str) -> str:
    return f"tool {name}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"
