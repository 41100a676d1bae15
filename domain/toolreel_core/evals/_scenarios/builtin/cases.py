"""What the built-in scenarios at a desk have in common: their system message, tools and scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final

from toolreel_core._conversation import Message, SystemMessage, UserMessage
from toolreel_core._jsontext import Json, Tree
from toolreel_core._plan import Preset
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core.evals._scenarios.checks import Order, ordered
from toolreel_core.evals._scenarios.draws import Draws
from toolreel_core.evals._scenarios.scenario import Case, Check, Scenario
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._scenarios.truth import Fact, judged
from toolreel_core.evals._worlds.desk import Answer, Desk
from toolreel_core.evals._worlds.world import World

VERSION: Final = 2
"""The second edition of the built-in scenarios: those whose constants are drawn."""

SYSTEM: Final = """\
You help at a desk, and you act through tools alone.
- Use the tools when they serve what the user wants, and never guess what a tool can tell you.
- Do just what the user asks for, once, without asking back.
- Look at "ok" in every result; if it is false, read "errors" and mend the call.
- When you are done, answer in one short sentence."""
DONE: Final = "It is done."


def drawn(
    name: str,
    pack: str,
    about: str,
    case: Callable[[Draws], Case],
    *,
    config: Tree | None = None,
    request: Tree | None = None,
    groups: tuple[str, ...] = (),
) -> Scenario:
    """A scenario whose trials are drawn from their seeds.

    :param config: what it changes in the loop's configuration
    :param request: what it changes in requests
    """
    changes: Tree = {"config": config or {}, "request_overrides": request or {}}
    preset = Preset.of(name, changes) if config or request else Preset()
    return Scenario(name, pack, about, VERSION, groups, partial(_case, case), preset)


@lru_cache(maxsize=64)
def _case(case: Callable[[Draws], Case], seed: str) -> Case:
    # A run asks for its case, for its scripts, and whether the scenario has real tools.
    return case(Draws(seed))


def posed(
    user: str,
    tools: Sequence[ToolDefinition],
    checks: tuple[Check, ...],
    scripts: ScenarioScripts,
    *,
    answers: Sequence[Answer] = (),
    world: World | None = None,
    system: str = SYSTEM,
    before: Sequence[Message] = (),
) -> Case:
    """One trial at a desk.

    :param answers: results of the tools that read
    :param world: another one than the desk that answers so
    :param before: what was said before the user's words
    """
    messages = (SystemMessage(system), *before, UserMessage(user))
    return Case(messages, _surface(tuple(tools)), world or desk(tools, answers), checks, scripts)


@lru_cache(maxsize=64)
def _surface(tools: tuple[ToolDefinition, ...]) -> ToolSurface:
    """The same for all trials, since checking sixty tools takes longer than a run."""
    return ToolSurface(tools)


def desk(tools: Sequence[ToolDefinition], answers: Sequence[Answer] = ()) -> Desk:
    """A desk that notes every call of a tool that does something."""
    return Desk(tuple(answers), tuple(tool.name for tool in tools if not tool.read_only))


def plain(
    user: str,
    tools: Sequence[ToolDefinition],
    *orders: Order,
    wrong: Order,
    answer: str = DONE,
    facts: Sequence[Fact] = (),
) -> Case:
    """A trial of plain orders; the bad script gives ``wrong`` in place of the last one."""
    *before, last = (call(tool, **arguments) for tool, arguments in (*orders, wrong))
    scripts = ScenarioScripts(script(*before, answer), script(*before[:-1], last, answer))
    return posed(user, tools, judged(ordered(*orders), facts=facts), scripts)


def reads(name: str, about: str, /, **properties: Json) -> ToolDefinition:
    """A tool that returns something; all of its arguments are required."""
    return ToolDefinition.of(name, about, schema(properties), read_only=True)


def takes(name: str, about: str, /, **properties: Json) -> ToolDefinition:
    """A tool that does something; all of its arguments are required."""
    return ToolDefinition.of(name, about, schema(properties))


def text(about: str) -> Tree:
    """The schema of a text."""
    return {"type": "string", "description": about}


def whole(about: str) -> Tree:
    """The schema of a whole number."""
    return {"type": "integer", "description": about}


def schema(properties: Tree) -> Tree:
    """The schema of an object with just these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
