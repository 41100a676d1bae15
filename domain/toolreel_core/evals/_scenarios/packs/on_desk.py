"""What scenarios at a desk have in common: how they begin, and what their oracles ask of the orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, assert_never

from toolreel_core._conversation.message import SystemMessage, UserMessage
from toolreel_core._jsontext.canonical import Json, Tree, canonical
from toolreel_core._tools.surface import ToolDefinition, ToolSurface
from toolreel_core.evals._scenarios.checks import outcome
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Check, Setting
from toolreel_core.evals._worlds.desk import Answer, Desk
from toolreel_core.evals._worlds.json_pointer import at

_SYSTEM: Final = """\
You help at a desk, and you act through tools alone.
- Use the tools when they serve what the user wants, and never guess what a tool can tell you.
- Do just what the user asks for, once, without asking back.
- Look at "ok" in every result; if it is false, read "errors" and mend the call.
- When you are done, answer in one short sentence."""


def at_desk(
    user: str, tools: Sequence[ToolDefinition], answers: Sequence[Answer] = ()
) -> Callable[[str], Setting]:
    """How a scenario at a desk begins; nothing in it depends on the seed.

    :param answers: what the tools that read know
    """
    taking = tuple(tool.name for tool in tools if not tool.read_only)
    setting = Setting(
        (SystemMessage(_SYSTEM), UserMessage(user)), ToolSurface(tuple(tools)), Desk(tuple(answers), taking)
    )
    return lambda _: setting


def reads(name: str, about: str, /, **properties: Json) -> ToolDefinition:
    """A tool that tells something; all of its arguments are required."""
    return ToolDefinition.of(name, about, _schema(properties), read_only=True)


def takes(name: str, about: str, /, **properties: Json) -> ToolDefinition:
    """A tool that does something; all of its arguments are required."""
    return ToolDefinition.of(name, about, _schema(properties))


def text(about: str) -> Tree:
    """The schema of a text."""
    return {"type": "string", "description": about}


def _schema(properties: Tree) -> Tree:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def ordered(*orders: tuple[str, Tree]) -> Check:
    """The check that just these orders were given, in this order, whatever was read in between."""
    wanted: Json = [{"tool": tool, "arguments": dict(arguments)} for tool, arguments in orders]
    return outcome("orders", partial(_otherwise, canonical(_plain(wanted))))


def _otherwise(wanted: str, seen: Evidence) -> str:
    given = canonical(_plain(at(seen.world.contents(), "/orders")))
    return "" if given == wanted else f"expected the orders {wanted}, got {given}"


def _plain(value: Json) -> Json:
    """A value in which 2.0 is 2, and the order of keys and blanks around texts make no difference."""
    match value:
        case str():
            return value.strip()
        case float():
            return int(value) if value.is_integer() else value
        case None | bool() | int():
            return value
        case Mapping():
            return {key: _plain(value[key]) for key in sorted(value)}
        case Sequence():
            return [_plain(item) for item in value]
        case _:
            assert_never(value)
