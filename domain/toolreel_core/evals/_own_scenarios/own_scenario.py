"""Scenarios of one's own: a table, as TOML or JSON has it, becomes a scenario.

The version of such a scenario is made of all that its table says, so that a changed file makes other runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from returns.pipeline import is_successful

from toolreel_core._conversation import Message, SystemMessage, UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._internal import PlaceError, Table, unknown_name
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, digest, parse, read
from toolreel_core._plan import Preset
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core.evals._own_scenarios.data_checks import ANSWERED, CheckData, checks_of
from toolreel_core.evals._own_scenarios.draws import Draw, check_placeholders, drawn, draws_of, filled
from toolreel_core.evals._own_scenarios.table_world import Row, TableWorld
from toolreel_core.evals._scenarios.checks import outcome, says_something
from toolreel_core.evals._scenarios.scenario import Case, Scenario
from toolreel_core.evals._scenarios.scripted_model import Line, ScenarioScripts, Script, ScriptedCall

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
        schema, needed = _property(table, name, value)
        properties[name] = schema
        required += [name] if needed else []
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _property(table: Table, name: str, value: Any) -> tuple[Json, bool]:  # noqa: ANN401 - a value of data
    match value:
        case list():
            return {"enum": [*value]}, True
        case Mapping():
            return dict(value), True
        case str():
            return _of_word(table, name, value)
        case _:
            raise table.complaint(
                f"expected a type such as 'integer', a list of values, or a JSON Schema, got {value!r}", name
            )


def _of_word(table: Table, name: str, text: str) -> tuple[Json, bool]:
    found = _WORD.fullmatch(text.strip())
    word = found["type"] if found else text
    if not found or word not in _TYPES:
        what = unknown_name("type", word, _TYPES)
        raise table.complaint(
            f"{what}; [] makes a list of it, ? an optional one, and ': ' begins a description", name
        )
    about: dict[str, Json] = {"description": found["about"].strip()} if found["about"] else {}
    one: dict[str, Json] = {"type": word}
    schema = {"type": "array", "items": one, **about} if found["list"] else {**one, **about}
    return schema, not found["optional"]


_OF_ANSWER: Final = ("when", "then", "json", "read", "set", "error", "times")
_EXCLUSIVE: Final = ("then", "json", "read", "error")


def rows_of(tool: Table, name: str, *, effect: bool) -> tuple[Row, ...]:
    """The rows under ``answers``, in their order.

    :raises PlaceError: at the first error
    """
    answers = tool.values.get("answers", [])
    if not isinstance(answers, list | tuple):
        raise tool.complaint(
            'expected a list: [{ when = { city = "Oslo" }, then = { celsius = 4 } }]', "answers"
        )
    tables = (Table.of(each, *tool.place, "answers", str(place)) for place, each in enumerate(answers, 1))
    return tuple(_row(table, name, effect=effect) for table in tables)


def _row(table: Table, name: str, *, effect: bool) -> Row:
    table.only(*_OF_ANSWER)
    given = [key for key in _EXCLUSIVE if key in table.values]
    if len(given) > 1:
        raise table.complaint(f"has {' and '.join(given)}; an answer has one of them")
    if not given and not effect:
        raise table.complaint('says no result; write then = { … }, read = "/place" or error = { … }')
    if "set" in table.values and not effect:
        raise table.complaint(
            "sets the world; write effect = true at the tool, since it does something", "set"
        )
    error = table.table("error").only("code", "message")
    if "error" in table.values and not error.text("code"):
        raise error.complaint("write a code, such as 'TIMEOUT'", "code")
    return Row(
        name,
        table.table("when").json(),
        _then(table),
        _pointer(table, "read"),
        tuple(
            (_checked(table, key), _answer_json(table, value))
            for key, value in table.table("set").values.items()
        ),
        error.text("code"),
        error.text("message"),
        table.whole("times"),
    )


def _then(table: Table) -> JsonText | None:
    if "json" in table.values:
        # TOML has no null.
        found = read(table.text("json"))
        if not is_successful(found):
            raise table.complaint(f"not JSON: {found.failure()}", "json")
        return canonical(found.unwrap())
    return _answer_json(table, table.values["then"]) if "then" in table.values else None


def _answer_json(table: Table, value: object) -> JsonText:
    return canonical(Table.of({"value": value}, *table.place).checked(canonical).values["value"])


def _pointer(table: Table, key: str) -> str:
    text = table.text(key)
    if key in table.values and not text.startswith("/"):
        raise table.complaint(f"expected a place in [world] such as '/stock/lamp', got {text!r}", key)
    return text


def _checked(table: Table, pointer: str) -> str:
    if not pointer.startswith("/"):
        raise table.complaint(f"expected places in [world] such as '/stock/lamp', got {pointer!r}", "set")
    return pointer


PACK: Final = "own"
"""The pack of all scenarios that are read from files."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The name of a scenario, which is also that of files."""
_KEYS: Final = (
    "name",
    "about",
    "system",
    "user",
    "draw",
    "world",
    "tool",
    "check",
    "script",
    "config",
    "real",
)
_OF_TOOL: Final = ("name", "description", "arguments", "parameters", "answers", "effect", "real")
_RELAXED: Final = {"tool_use_mode": "relaxed"}


@dataclass(frozen=True, slots=True)
class _Tool:
    definition: ToolDefinition
    effect: bool
    rows: tuple[Row, ...]
    real: bool = False
    """Whether it runs for real."""


@dataclass(frozen=True, slots=True)
class OwnScenario:
    """A scenario as data; texts, answers, checks and scripts may have placeholders."""

    name: str
    about: str
    system: str
    user: tuple[str, ...]
    """What the user says: the task, and what follows after each answer."""
    draws: Mapping[str, Draw]
    state: JsonText
    """What the tools read and set, at the beginning."""
    tools: tuple[_Tool, ...]
    checks: tuple[CheckData, ...]
    scripts: Mapping[str, JsonText]
    changes: Preset
    tree: JsonText
    """All of it, as it was read."""

    def scenario(self) -> Scenario:
        """The scenario that a plan takes."""
        version = int(digest(self.tree)[:12], 16)
        return Scenario(self.name, PACK, self.about, version, (), self.case, self.changes, tree=self.tree)

    def case(self, seed: str) -> Case:
        """What one trial poses."""
        values = drawn(self.draws, seed)
        first, *later = (str(filled(text, values)) for text in self.user)
        system: tuple[Message, ...] = (SystemMessage(_text(self.system, values)),) if self.system else ()
        checks = (check.check(values) for check in self.checks)
        return Case(
            (*system, UserMessage(first)),
            ToolSurface(tuple(tool.definition for tool in self.tools)),
            TableWorld(
                tuple(_filled_row(row, values) for tool in self.tools for row in tool.rows),
                tuple(tool.definition.name for tool in self.tools if tool.effect),
                _json(self.state, values),
            ),
            (*checks, outcome(ANSWERED, says_something)),
            _scripts(self.scripts, values),
            tuple(later),
            tuple(tool.definition.name for tool in self.tools if tool.real),
        )


def own_scenario(tree: object) -> OwnScenario:
    """Read a scenario.

    >>> one = own_scenario(
    ...     {
    ...         "name": "stock",
    ...         "user": "How many lamps are there?",
    ...         "tool": [
    ...             {"name": "stock_of", "arguments": {"sku": "string"}, "answers": [{"then": {"pieces": 3}}]}
    ...         ],
    ...         "check": [{"called": "stock_of"}, {"says": 3}],
    ...     }
    ... )
    >>> [check.name for check in one.scenario().begin("1").checks]
    ['called_stock_of', 'says', 'answer']

    :raises PlaceError: at the first error, with what to write instead
    """
    table = Table.of(tree).only(*_KEYS)
    check_scenario_name(table.text("name"))
    user = _user(table)
    draws = draws_of(table.table("draw"))
    tools = tuple(_tool(inner) for inner in _tables(table, "tool"))
    if not tools:
        raise table.complaint("a scenario needs at least one [[tool]]", "tool")
    names = _distinct(tools, table)
    checks = checks_of(_tables(table, "check"), names, len(user))
    if not checks:
        raise table.complaint("a scenario needs at least one [[check]]; write what has to be true", "check")
    scripts = _script_texts(table.table("script"))
    one = OwnScenario(
        table.text("name"),
        table.text("about"),
        table.text("system"),
        user,
        draws,
        table.table("world").json(),
        tools,
        checks,
        scripts,
        _changes(table),
        Table.of({key: table.values[key] for key in _KEYS if key in table.values}).json(),
    )
    _check_places(table, draws)
    _check_cases(one, table)
    return one


def check_scenario_name(name: str) -> None:
    """Refuse a name that a scenario cannot have.

    :raises PlaceError: if it is one
    """
    if not _NAME.fullmatch(name):
        what = "expected small letters, digits and _, at most 64, such as 'refund_once'"
        raise PlaceError(("name",), f"{what}; got {name!r}")


def _user(table: Table) -> tuple[str, ...]:
    value = table.values.get("user", "")
    said = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else ()
    if not said or not all(isinstance(one, str) and one.strip() for one in said):
        raise table.complaint("write what the user says: a text, or a list of texts", "user")
    return said


def _tables(table: Table, key: str) -> tuple[Table, ...]:
    """The tables of an array, each with its number from 1 on as its place."""
    items = table.values.get(key, [])
    if not isinstance(items, list | tuple):
        raise table.complaint(f"expected [[{key}]], with two brackets", key)
    return tuple(Table.of(item, key, _label(item, number)) for number, item in enumerate(items, 1))


def _label(item: Any, number: int) -> str:  # noqa: ANN401 - a value of data
    name = item.get("name") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) and name else str(number)


def _tool(table: Table) -> _Tool:
    table.only(*_OF_TOOL)
    effect = table.switch("effect", False)
    if "arguments" in table.values and "parameters" in table.values:
        raise table.complaint("write arguments (the short form) or parameters (a JSON Schema), not both")
    parameters: Tree = (
        dict(table.table("parameters").values)
        if "parameters" in table.values
        else parameters_of(table.table("arguments"))
    )
    name = table.text("name")
    if not name:
        raise table.complaint("write its name", "name")
    try:
        definition = ToolDefinition.of(name, table.text("description"), parameters, read_only=not effect)
    except ConfigError as error:
        raise table.complaint(str(error).removeprefix(f"tool {name!r}: ")) from None
    rows = rows_of(table, name, effect=effect)
    real = table.switch("real", False)
    if real and rows:
        raise table.complaint("a real tool gives its own answers; leave its answers out", "answers")
    if not rows and not effect and not real:
        raise table.complaint("it answers nothing: write answers, or effect = true if it does something")
    return _Tool(definition, effect, rows, real)


def _distinct(tools: Sequence[_Tool], table: Table) -> tuple[str, ...]:
    names = tuple(tool.definition.name for tool in tools)
    for place, name in enumerate(names):
        if name in names[:place]:
            raise table.complaint(f"there are two tools {name!r}; choose another name for one", "tool", name)
    return names


def _changes(table: Table) -> Preset:
    config = {**_RELAXED, **table.table("config").values}
    try:
        return Preset.of("scenario", {"config": config})
    except PlaceError as error:
        raise PlaceError(tuple(error.place[2:]), error.what) from None


def _script_texts(table: Table) -> dict[str, JsonText]:
    table.only("good", "bad", "skipping")
    for kind in ("good", "bad"):
        if table.values and kind not in table.values:
            raise table.complaint(
                f"write both scripts: good, which passes, and bad, which must fail ({kind} is missing)"
            )
    for kind, lines in table.values.items():
        if not isinstance(lines, list | tuple) or not lines:
            raise table.complaint(
                'expected a list of texts and calls: [{ call = "tool", with = {} }, "Done."]', kind
            )
        for line in lines:
            _check_line(table, kind, line)
    return {kind: canonical(list(lines)) for kind, lines in table.values.items()}


def _check_line(table: Table, kind: str, line: Any) -> None:  # noqa: ANN401 - a value of data
    calls = line if isinstance(line, list | tuple) else [] if isinstance(line, str) else [line]
    for call in calls:
        if (
            not isinstance(call, Mapping)
            or not isinstance(call.get("call"), str)
            or set(call) - {"call", "with"}
        ):
            what = 'expected a text, or { call = "tool", with = { argument = "value" } }'
            raise table.complaint(f"{what}, got {call!r}", kind)


def _check_places(table: Table, draws: Mapping[str, Draw]) -> None:
    """Placeholders without a draw, wherever they may stand."""
    for key in ("system", "user", "world", "script"):
        for place, value in _parts(table.values.get(key), key):
            check_placeholders(value, draws, *place)
    for key in ("tool", "check"):
        for inner in _tables(table, key):
            for name, value in inner.values.items():
                if name not in {"description", "parameters", "arguments"}:
                    check_placeholders(value, draws, *inner.place, name)


def _parts(value: Any, key: str) -> list[tuple[tuple[str, ...], Json]]:  # noqa: ANN401 - a value of data
    if isinstance(value, Mapping):
        return [((key, name), item) for name, item in value.items()]
    return [] if value is None else [((key,), value)]


def _check_cases(one: OwnScenario, table: Table) -> None:
    """Tools that scripts call and there are not."""
    names = [tool.definition.name for tool in one.tools]
    for kind, lines in one.scripts.items():
        for line in cast("Sequence[Any]", parse(lines)):
            for call in [] if isinstance(line, str) else line if isinstance(line, list) else [line]:
                if kind == "good" and call["call"] not in names:
                    raise table.complaint(unknown_name("tool", call["call"], names), "script", kind)


def _filled_row(row: Row, values: Mapping[str, Json]) -> Row:
    return Row(
        row.tool,
        _json(row.when, values),
        None if row.then is None else _json(row.then, values),
        _text(row.read, values),
        tuple((_text(pointer, values), _json(value, values)) for pointer, value in row.sets),
        row.code,
        _text(row.message, values),
        row.times,
    )


def _json(text: JsonText, values: Mapping[str, Json]) -> JsonText:
    return canonical(filled(parse(text), values))


def _text(text: str, values: Mapping[str, Json]) -> str:
    value = filled(text, values)
    return value if isinstance(value, str) else canonical(value)


def _scripts(texts: Mapping[str, JsonText], values: Mapping[str, Json]) -> ScenarioScripts | None:
    if not texts:
        return None
    made = {kind: _script(filled(parse(text), values)) for kind, text in texts.items()}
    return ScenarioScripts(made["good"], made["bad"], made.get("skipping"))


def _script(lines: Json) -> Script:
    return Script(tuple(_line(line) for line in cast("Sequence[Json]", lines)))


def _line(line: Json) -> Line:
    if isinstance(line, str | int | float) or line is None:
        return line if isinstance(line, str) else canonical(line)
    calls = cast("Sequence[Tree]", [line] if isinstance(line, Mapping) else line)
    return tuple(ScriptedCall(str(call["call"]), canonical(call.get("with", {}))) for call in calls)
