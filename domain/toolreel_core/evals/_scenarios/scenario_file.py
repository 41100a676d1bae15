"""Scenarios as data: a table, as TOML or JSON has it, becomes a scenario.

The built-in ones are such tables too. The version of any other one is made of all that its table says, so
that a changed file makes other runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, cast, get_args

from returns.pipeline import is_successful

from toolreel_core._config_checks import PlaceError, Table, unknown_name
from toolreel_core._conversation import AssistantMessage, Message, SystemMessage, UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical, digest, read
from toolreel_core._plan import Preset
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core.evals._scenarios.checks import ANSWERED, checks_of, outcome, says_something
from toolreel_core.evals._scenarios.draws import drawn, filled
from toolreel_core.evals._scenarios.scenario import PACK, Case, Scenario
from toolreel_core.evals._scenarios.scripted_model import (
    Line,
    ScenarioScripts,
    Script,
    ScriptedCall,
    WholeReply,
)
from toolreel_core.evals._scenarios.world import Mishap, Row, TableWorld, Workspace, World, workspace_tools

_TYPES: Final = ("string", "integer", "number", "boolean", "object")
_WORD: Final = re.compile(
    r"(?P<type>\w+)(?P<list>\[\])?(?P<optional>\?)?\s*(?::\s*(?P<about>.*))?", re.DOTALL
)
"""A type, with the marks of a list and of an optional parameter, and its description."""


def parameters_of(table: Table) -> dict[str, Json]:
    """The JSON Schema of an ``arguments`` table.

    >>> parameters_of(Table.of({"city": "string", "days": "integer?: How many."}))["required"]
    ['city']

    :raises PlaceError: at an argument that is none of the forms
    """
    properties, required = dict[str, Json](), list[Json]()
    for name, value in table.values.items():
        optional = False
        match value:
            case list():
                schema: dict[str, Json] = {"enum": [*value]}
            case Mapping():
                schema = dict(value)
            case str():
                found = _WORD.fullmatch(value.strip())
                word = found["type"] if found else value
                if not found or word not in _TYPES:
                    marks = "[] makes a list of it, ? an optional one, and ': ' begins a description"
                    raise table.complaint(f"{unknown_name('type', word, _TYPES)}; {marks}", name)
                schema = {"type": "array", "items": {"type": word}} if found["list"] else {"type": word}
                schema |= {"description": found["about"].strip()} if found["about"] else {}
                optional = bool(found["optional"])
            case _:
                expected = "a type such as 'integer', a list of values, or a JSON Schema"
                raise table.complaint(f"expected {expected}, got {value!r}", name)
        properties[name] = schema
        required += [] if optional else [name]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_OF_ANSWER: Final = ("when", "then", "json", "read", "set", "error", "done", "times")
_EXCLUSIVE: Final = ("then", "json", "read", "error")


def rows_of(tool: Table, name: str, *, effect: bool) -> tuple[Row, ...]:
    """The rows under ``answers``, in their order.

    :raises PlaceError: at the first error
    """
    tables = _read_tables(tool, "answers", 'a list: [{ when = { city = "Oslo" }, then = { celsius = 4 } }]')
    return tuple(_read_row(table, name, effect=effect) for table in tables)


def _read_row(table: Table, name: str, *, effect: bool) -> Row:
    values = table.only(*_OF_ANSWER).checked(canonical).values
    given = [key for key in _EXCLUSIVE if key in values]
    if len(given) > 1:
        raise table.complaint(f"has {' and '.join(given)}; an answer has one of them")
    if not given and not effect:
        raise table.complaint('says no result; write then = { … }, read = "/place" or error = { … }')
    if "set" in values and not effect:
        raise table.complaint(
            "sets the world; write effect = true at the tool, since it does something", "set"
        )
    error, sets = table.table("error").only("code", "message"), table.table("set").values
    if "error" in values and not error.text("code"):
        raise error.complaint("write a code, such as 'TIMEOUT'", "code")
    then = canonical(values["then"]) if "then" in values else None
    if "json" in values:  # TOML has no null
        found = read(table.text("json"))
        if not is_successful(found):
            raise table.complaint(f"not JSON: {found.failure()}", "json")
        then = canonical(found.unwrap())
    for key, pointer in (("read", table.text("read", "/")), *(("set", each) for each in sets)):
        if not pointer.startswith("/"):
            raise table.complaint(f"expected a place in [world] such as '/stock/lamp', got {pointer!r}", key)
    return Row(
        name,
        table.table("when").json(),
        then,
        table.text("read"),
        tuple((pointer, canonical(value)) for pointer, value in sets.items()),
        error.text("code"),
        error.text("message"),
        table.whole("times"),
        table.switch("done", "error" not in values),
    )


_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The name of a scenario, which is also that of files."""
_FILLED: Final = ("system", "history", "user", "world", "workspace", "script")
"""Keys whose texts may have placeholders, besides tools and checks."""
_KEYS: Final = (
    *("name", "about", "system", "user", "draw", "world", "tool", "check", "script", "config", "real"),
    *("history", "workspace", "request", "serve"),
)
"""In the order of the digest that a scenario's version is: with another, stored runs are not found again."""
_OF_TOOL: Final = ("name", "description", "arguments", "parameters", "answers", "effect", "real")


def _read_tool(table: Table) -> ToolDefinition:
    table.only(*_OF_TOOL)
    effect, real = table.switch("effect", False), table.switch("real", False)
    if "arguments" in table.values and "parameters" in table.values:
        raise table.complaint("write arguments (the short form) or parameters (a JSON Schema), not both")
    whole = "parameters" in table.values
    parameters = table.table("parameters").values if whole else parameters_of(table.table("arguments"))
    if not (name := table.text("name")):
        raise table.complaint("write its name", "name")
    answers = table.values.get("answers")
    if real and answers:
        raise table.complaint("a real tool gives its own answers; leave its answers out", "answers")
    if not answers and not effect and not real:
        raise table.complaint("it answers nothing: write answers, or effect = true if it does something")
    try:
        return ToolDefinition.of(name, table.text("description"), parameters, read_only=not effect)
    except ConfigError as error:
        raise table.complaint(str(error).removeprefix(f"tool {name!r}: ")) from None


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
        raise table.complaint("a scenario needs at least one [[tool]]", "tool")
    if not _read_tables(table, "check"):
        raise table.complaint("a scenario needs at least one [[check]]; write what has to be true", "check")
    names = [tool.name for tool in tools]
    for each in (each for place, each in enumerate(names) if each in names[:place]):
        raise table.complaint(f"there are two tools {each!r}; choose another name for one", "tool", each)
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
        version or int(digest(data)[:12], 16),
        begin,
        _read_changes(table, name if version else "scenario"),
        data,
    )


def check_scenario_name(name: str) -> None:
    """Refuse a name that a scenario cannot have.

    :raises PlaceError: if it is one
    """
    if not _NAME.fullmatch(name):
        what = "expected small letters, digits and _, at most 64, such as 'refund_once'"
        raise PlaceError(("name",), f"{what}; got {name!r}")


def _make_case(whole: Table, surface: ToolSurface, shift: int, seed: str) -> Case:
    """What one trial poses: the table filled with what is drawn, and read."""
    values, tools = drawn(whole.values.get("draw", {}), seed, shift=shift), surface.definitions

    def known(table: Table, *keys: str) -> Table:
        there = {key: table.values[key] for key in keys if key in table.values}
        return Table(table.place, {key: filled(there[key], values, *table.place, key) for key in there})

    table = known(whole, *_FILLED)
    first, *later = _read_texts(table, "user", "write what the user says: a text, or a list of texts")
    checks = [known(each, *each.values) for each in _read_tables(whole, "check")]
    if "workspace" in whole.values:
        world, surface = _read_workspace(table.table("workspace"))
    else:
        rows = tuple(
            row
            for tool, each in zip(tools, _read_tables(whole, "tool"), strict=True)
            for row in rows_of(known(each, "answers"), tool.name, effect=not tool.read_only)
        )
        effects = tuple(tool.name for tool in tools if not tool.read_only)
        world = TableWorld(rows, effects, table.table("world").json())
    about = {tool.name: f"{tool.name.replace('_', ' ')} {tool.description}" for tool in surface.definitions}
    server = whole.text("serve")
    return Case(
        _read_opening(table, first),
        surface,
        world,
        (*checks_of(checks, about, (first, *later)), outcome(ANSWERED, says_something)),
        _read_scripts(table.table("script"), tools, first if "history" in whole.values else ""),
        tuple(later),
        tuple(each.text("name") for each in _read_tables(whole, "tool") if server or each.values.get("real")),
        server,
    )


def _read_scripts(table: Table, tools: Sequence[ToolDefinition], since: str) -> ScenarioScripts | None:
    if not table.only("good", "bad", "skipping").values:
        return None
    for kind in ("good", "bad"):
        if kind not in table.values:
            raise table.complaint(
                f"write both scripts: good, which passes, and bad, which must fail ({kind} is missing)"
            )
    read = {kind: Script(_read_lines(table, kind), since) for kind in table.values}
    names = [tool.name for tool in tools]
    for line in read["good"].lines if names else ():
        for call in line.calls if isinstance(line, WholeReply) else line:
            if isinstance(call, ScriptedCall) and call.name not in names:
                raise table.complaint(unknown_name("tool", call.name, names), "good")
    return ScenarioScripts(**read)


def _read_texts(table: Table, key: str, what: str) -> tuple[str, ...]:
    value = table.values.get(key, "")
    said = value if isinstance(value, list | tuple) else [value]
    # A text that is one placeholder has become a value of another type.
    texts = tuple(str(one) for one in said if type(one) in {str, int, float})
    if not texts or len(texts) < len(said) or not all(text.strip() for text in texts):
        raise table.complaint(what, key)
    return texts


def _read_opening(table: Table, user: str) -> tuple[Message, ...]:
    system = _read_texts(table, "system", "write a text") if table.values.get("system") else ()
    what = "write a list of texts, of the user and of the model by turns"
    earlier = _read_texts(table, "history", what) if "history" in table.values else ()
    if len(earlier) % 2:
        raise table.complaint(f"{what}; the last one is the model's", "history")
    turns = zip(earlier[::2], earlier[1::2], strict=True)
    history = [one for asked, said in turns for one in (UserMessage(asked), AssistantMessage(said))]
    return (*map(SystemMessage, system), *history, UserMessage(user))


def _read_workspace(table: Table) -> tuple[World, ToolSurface]:
    """The workspace of the case study: a world in Python, with tools of its own."""
    table.only("id", "path", "draft", "mishap")
    path = table.text("path", "/draft/foo")
    mishap = table.choice("mishap", get_args(Mishap)) if "mishap" in table.values else ""
    world = Workspace(table.text("id"), table.table("draft").json(), cast("Mishap", mishap), allowed=path)
    return world, workspace_tools(path)


def _read_tables(table: Table, key: str, expected: str = "") -> tuple[Table, ...]:
    """The tables of an array, each with its name or number from 1 on as its place."""
    items = table.values.get(key, [])
    if not isinstance(items, list | tuple):
        raise table.complaint(f"expected {expected or f'[[{key}]], with two brackets'}", key)
    names = (item.get("name") if isinstance(item, Mapping) else None for item in items)
    labels = (name if isinstance(name, str) and name else str(place) for place, name in enumerate(names, 1))
    return tuple(Table.of(item, *table.place, key, label) for item, label in zip(items, labels, strict=True))


def _read_changes(table: Table, name: str) -> Preset:
    """What a scenario changes in a configuration; as a built-in one, it keeps the mode of the plan."""
    config = {"tool_use_mode": "relaxed", **table.table("config").values}
    if config["tool_use_mode"] == "plan":
        del config["tool_use_mode"]
    sections = {"config": config, "request_overrides": table.table("request").values}
    try:
        return Preset.of(name, sections) if any(sections.values()) else Preset()
    except PlaceError as error:
        place = tuple("request" if key == "request_overrides" else key for key in error.place[2:])
        raise PlaceError(place, error.what) from None


def _read_lines(table: Table, kind: str) -> tuple[Line, ...]:
    lines = table.values[kind]
    if not isinstance(lines, list | tuple) or not lines:
        raise table.complaint(
            'expected a list of texts and calls: [{ call = "tool", with = {} }, "Done."]', kind
        )
    return tuple(_read_line(table, kind, line) for line in lines)


def _read_line(table: Table, kind: str, line: Any) -> Line:  # noqa: ANN401 - a value of data
    if isinstance(line, str | int | float):
        return line if isinstance(line, str) else canonical(line)
    whole = isinstance(line, Mapping) and "calls" in line
    items = line["calls"] if whole else line if isinstance(line, list | tuple) else [line]
    for call in items:
        fine = isinstance(call, Mapping) and isinstance(call.get("call"), str)
        if not fine or set(call) - {"call", "with"}:
            what = 'expected a text, or { call = "tool", with = { argument = "value" } }'
            raise table.complaint(f"{what}, got {call!r}", kind)
    calls = tuple(ScriptedCall(call["call"], canonical(call.get("with", {}))) for call in items)
    if not whole:
        return calls
    inner = Table.of(line, *table.place, kind).only("calls", "text", "fields", "call_fields")
    return WholeReply(
        calls, inner.text("text"), inner.table("fields").json(), inner.table("call_fields").json()
    )
