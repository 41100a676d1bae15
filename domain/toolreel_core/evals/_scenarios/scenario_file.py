"""Scenarios as data: a table, as TOML or JSON has it, becomes a scenario, with values drawn for each trial.

The version of a scenario that is not built in is made of all that its table says, so that a changed file
makes other runs.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Any

from toolreel_core._config_checks import PlaceError, Table
from toolreel_core._conversation import AssistantMessage, Message, SystemMessage, UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import JsonText, canonical, digest, parse
from toolreel_core._plan import Preset, read_overrides
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core.evals._scenarios.checks import ANSWERED, blank_final_text, checks_of, outcome
from toolreel_core.evals._scenarios.draws import draw_values, fill_placeholders
from toolreel_core.evals._scenarios.forms import checked_value, parameters_schema
from toolreel_core.evals._scenarios.scenario import PACK, Case, Scenario, ScenarioScripts, Script, ScriptLine
from toolreel_core.evals._scenarios.world import (
    ALLOWED,
    TableWorld,
    WorkspaceWorld,
    World,
    as_text,
    as_values,
    workspace_tools,
)

_OF_ANSWER = ("then", "read", "when", "set", "error", "done", "times")
"""In the order of the text that worlds have, of which versions are made."""


def read_answers(tool: Table, name: str, *, effect: bool) -> tuple[tuple[str, JsonText], ...]:
    return tuple((name, _read_answer(table, effect=effect)) for table in _read_tables(tool, "answers"))


def _read_answer(table: Table, *, effect: bool) -> JsonText:
    *around, label = table.place
    checked_value(Table(tuple(around), {label: table.only(*_OF_ANSWER).values}), label, "answer")
    values = table.values
    results = [key for key in ("then", "read", "error") if key in values]
    if len(results) > 1 or not (results or effect):
        raise table.error_at('has one result: then = { … }, read = "/place" or error = { … }')
    if not all(place.startswith("/") for place in (values.get("read", "/"), *values.get("set", ()))):
        raise table.error_at("expected places in [world] such as '/stock/lamp'")
    if "set" in values and not effect:
        what = "sets the world; write effect = true at the tool, since it does something"
        raise table.error_at(what, "set")
    answer = {"done": "error" not in values, "times": 0, **values}
    return canonical({key: answer[key] for key in _OF_ANSWER if key in answer})


_SCENARIO_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The name of a scenario, which is also a part of file names."""
_FILLED = ("system", "history", "user", "world", "workspace", "script")
"""Keys whose texts may have placeholders, besides tools and checks."""
_KEYS = (
    *("name", "about", "system", "user", "draw", "world", "tool", "check", "script", "config", "real"),
    *("history", "workspace", "request"),
)
"""In the order of the digest that a scenario's version is: with another, stored runs are not found again."""
_OF_TOOL = ("name", "description", "arguments", "parameters", "answers", "effect", "real")


def _read_tool(table: Table) -> ToolDefinition:
    effect = table.only(*_OF_TOOL).value("effect", bool, False)
    if not (table.values.get("answers") or effect or table.value("real", bool)):
        raise table.error_at("it answers nothing: write answers, or effect = true if it does something")
    whole = "parameters" in table.values
    parameters = table.table("parameters").values if whole else parameters_schema(table.table("arguments"))
    name = table.text("name")
    try:
        return ToolDefinition.of(name, table.text("description"), parameters, read_only=not effect)
    except ConfigError as error:
        raise table.error_at(str(error).removeprefix(f"tool {name!r}: ")) from None


def scenario_of(tree: object, *, pack: str = PACK, version: int = 0) -> Scenario:
    """Read a scenario.

    >>> one = scenario_of(
    ...     {
    ...         "name": "stock",
    ...         "user": "How many lamps are there?",
    ...         "tool": [
    ...             {"name": "stock_of", "arguments": {"sku": "string"}, "answers": [{"then": {"pieces": 3}}]}
    ...         ],
    ...         "check": [{"called": "stock_of"}, {"says": 3}],
    ...     }
    ... )
    >>> [check.name for check in one.begin("1").checks]
    ['called_stock_of', 'says', 'answer']

    :param version: of a built-in scenario, whose runs were drawn by it
    :raises PlaceError: at the first error, with what to write instead
    """
    table = Table.of(tree).only(*_KEYS)
    name = table.text("name")
    check_scenario_name(name)
    tools = tuple(map(_read_tool, _read_tables(table, "tool")))
    if not tools and "workspace" not in table.values:
        raise table.error_at("a scenario needs at least one [[tool]]", "tool")
    if not _read_tables(table, "check"):
        raise table.error_at("a scenario needs at least one [[check]]; write what has to be true", "check")
    names = [tool.name for tool in tools]
    for each in (each for place, each in enumerate(names) if each in names[:place]):
        raise table.error_at(f"there are two tools {each!r}; choose another name for one", "tool", each)
    data = Table.of({key: table.values[key] for key in _KEYS if key in table.values}).json()
    # A run asks for its case, for its scripts, and for its real tools.
    begin = lru_cache(maxsize=64)(partial(_make_case, table, ToolSurface(tools), 192 if version else 0))
    # What is wrong with a value that is drawn is found here rather than in the middle of an evaluation; the
    # built-in ones are tested.
    for seed in () if version else ("0", "1", "2"):
        begin(seed)
    return Scenario(
        name,
        pack,
        table.text("about"),
        # 48 bits: any reader of JSON keeps the number exact.
        version or int(digest(data)[:12], 16),
        begin,
        _read_configuration_changes(table, name if version else "scenario"),
        data,
    )


def check_scenario_name(name: str) -> None:
    if not _SCENARIO_NAME.fullmatch(name):
        what = "expected small letters, digits and _, at most 64, such as 'refund_once'"
        raise PlaceError(("name",), f"{what}; got {name!r}")


def _make_case(whole: Table, surface: ToolSurface, shift: int, seed: str) -> Case:
    values, tools = draw_values(whole.values.get("draw", {}), seed, shift=shift), surface.definitions

    def known(table: Table, *keys: str) -> Table:
        there = {key: table.values[key] for key in keys if key in table.values}
        return Table(
            table.place, {key: fill_placeholders(there[key], values, *table.place, key) for key in there}
        )

    table = known(whole, *_FILLED)
    first, *later = _read_texts(table, "user")
    checks = [known(each, *each.values) for each in _read_tables(whole, "check")]
    if "workspace" in whole.values:
        values = checked_value(table, "workspace", "workspace")
        path, draft = values.get("path", ALLOWED), canonical(values.get("draft", {}))
        world: World = WorkspaceWorld(values.get("id", ""), draft, values.get("mishap", ""), allowed=path)
        surface = workspace_tools(path)
    else:
        rows = tuple(
            row
            for tool, each in zip(tools, _read_tables(whole, "tool"), strict=True)
            for row in read_answers(known(each, "answers"), tool.name, effect=not tool.read_only)
        )
        effects = tuple(tool.name for tool in tools if not tool.read_only)
        world = TableWorld(rows, effects, table.table("world").json())
    about = {tool.name: f"{tool.name.replace('_', ' ')} {tool.description}" for tool in surface.definitions}
    return Case(
        _read_opening_messages(table, first),
        surface,
        world,
        (*checks_of(checks, about, (first, *later)), outcome(ANSWERED, blank_final_text)),
        _read_scripts(table, first if "history" in whole.values else ""),
        tuple(later),
        tuple(each.text("name") for each in _read_tables(whole, "tool") if each.values.get("real")),
    )


def _read_scripts(table: Table, since: str) -> ScenarioScripts | None:
    if not table.values.get("script"):
        return None
    scripts = checked_value(table, "script", "scripts")
    return ScenarioScripts(
        **{kind: Script(tuple(map(_script_line, lines)), since) for kind, lines in scripts.items()}
    )


def _script_line(value: Any) -> ScriptLine:  # noqa: ANN401 - of the form
    if isinstance(value, str | int | float):
        return as_text(value)
    return [value] if "call" in value else value


def _read_texts(table: Table, key: str) -> list[str]:
    # A text that is one placeholder has become a value of another type.
    return [as_text(one) for one in as_values(checked_value(table, key, "texts_said"))]


def _read_opening_messages(table: Table, user: str) -> tuple[Message, ...]:
    earlier = _read_texts(table, "history") if "history" in table.values else []
    if len(earlier) % 2:
        raise table.error_at("write texts of user and model by turns; the last one is the model's", "history")
    turns = zip(earlier[::2], earlier[1::2], strict=True)
    history = [one for asked, said in turns for one in (UserMessage(asked), AssistantMessage(said))]
    system = _read_texts(table, "system") if table.values.get("system") else []
    return (*map(SystemMessage, system), *history, UserMessage(user))


def _read_tables(table: Table, key: str) -> tuple[Table, ...]:
    return tuple(
        Table.of(item, *table.place, key, str(item.get("name") or place))
        for place, item in enumerate(checked_value(table, key, "tables", []), 1)
    )


def _read_configuration_changes(table: Table, name: str) -> Preset:
    """What a scenario changes in a configuration; ``tool_use_mode = "plan"`` keeps the plan's mode."""
    # In the enforced mode, an answer without a call fails, even where no call is right.
    config = {"tool_use_mode": "relaxed", **table.table("config").values}
    if config["tool_use_mode"] == "plan":
        del config["tool_use_mode"]
    sections = {"config": config, "request_overrides": parse(read_overrides(table.table("request")))}
    try:
        return Preset.of(name, sections) if any(sections.values()) else Preset()
    except PlaceError as error:
        # Without ("preset", name), which a scenario file does not have.
        place = tuple("request" if key == "request_overrides" else key for key in error.place[2:])
        raise PlaceError(place, error.what) from None
