"""Scenarios as data: a table, as TOML or JSON has it, becomes a scenario, with values drawn for each trial.

The version of a scenario that is not built in is made of all that its table says, so that a changed file
makes other runs. A constant that is drawn cannot be memorised, and trials differ even at temperature 0. Draws
are built on digests, so that every machine and version of Python draws the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast, get_args

from returns.pipeline import is_successful

from toolreel_core._config_checks import PlaceError, Table, unknown_name
from toolreel_core._conversation import AssistantMessage, Message, SystemMessage, UserMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, chain, digest, pointed, read
from toolreel_core._plan import Preset
from toolreel_core._schema import violations
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core.evals._scenarios.checks import ANSWERED, checks_of, outcome, says_something
from toolreel_core.evals._scenarios.scenario import PACK, Case, Scenario
from toolreel_core.evals._scenarios.scripted_model import (
    Line,
    ScenarioScripts,
    Script,
    calls_in,
)
from toolreel_core.evals._scenarios.world import (
    Mishap,
    TableWorld,
    Workspace,
    World,
    as_text,
    identifier,
    with_texts,
    workspace_tools,
)

LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "first_names": (
        *("Ada", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas"),
        *("Karin", "Leon", "Maren", "Nils", "Olga", "Paul", "Rosa", "Simon", "Tilda", "Viktor"),
    ),
    "last_names": (
        *("Quint", "Almond", "Berger", "Castle", "Dorn", "Ekman", "Falk", "Grove", "Holm", "Ibsen"),
        *("Jansen", "Keller", "Lund", "Moss", "Novak", "Olsen", "Perry", "Rask", "Stone", "Vogel"),
    ),
    "rooms": (
        *("kitchen", "hall", "attic", "cellar", "garage", "study", "nursery", "pantry", "library"),
        *("workshop", "bathroom", "bedroom", "balcony", "veranda"),
    ),
    "words": (
        *("amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "hazel", "indigo", "juniper"),
        *("kelp", "linen", "maple", "nickel", "onyx", "pebble", "quartz", "reed", "slate", "tulip"),
        *("umber", "velvet", "willow", "yarrow", "zinc"),
    ),
}
"""Lists that a draw can name instead of writing its values down."""


@dataclass(frozen=True, slots=True)
class Seed:
    """The seed of a trial, and which bits of a digest decide."""

    text: str
    shift: int = 0
    """192 for the built-in scenarios, whose recorded runs were drawn from the upper 64 bits."""

    def below(self, what: str, limit: int) -> int:
        """A number from 0 to ``limit - 1``, by the name that it is drawn under."""
        return (int(chain("draw", what, self.text), 16) >> self.shift) % limit

    def one_of(self, what: str, items: Sequence[str]) -> str:
        """One of several texts."""
        return items[self.below(what, len(items))]


def _draw_person(name: str, seed: Seed) -> str:
    first, last = (seed.one_of(f"{name} {part}", LISTS[f"{part}_names"]) for part in ("first", "last"))
    return f"{first} {last}"


def _draw_word(name: str, seed: Seed) -> str:
    return f"{seed.one_of(name, LISTS['words'])}-{100 + seed.below(f'{name} number', 900)}"


_PHRASES: Final[Mapping[str, Callable[[str, Seed], str]]] = {
    "person": _draw_person,
    "word": _draw_word,
    "uuid": lambda name, seed: identifier(seed.text, name),
}
"""Draws that are one word: a name such as Ada Quint, a word such as amber-417, an identifier."""

_FORMS: Final = 'write a list of values, { from = 1, to = 9 }, { pattern = "A-####" } or { sum = ["a", "b"] }'
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without I and O, which look like digits."""
_OPERATIONS: Final[Mapping[str, Callable[[Sequence[int]], int]]] = {"sum": sum, "product": math.prod}
_KINDS: Final = ("one_of", "pattern", "largest_first", *_OPERATIONS, "from", "to")
_Pick: TypeAlias = Callable[[str, Sequence[Json]], Json]
"""Draws a value under a name, unlike those that are taken."""


def drawn(draws: Mapping[str, Any], seed: str, *, shift: int = 0) -> dict[str, Json]:
    """The values of one trial.

    >>> drawn({"sku": {"pattern": "A-##"}, "pieces": {"from": 2, "to": 9}, "to": "person"}, "1")
    {'sku': 'A-44', 'pieces': 6, 'to': 'Rosa Grove'}

    :param draws: a ``[draw]`` table; texts in it may have placeholders for what is drawn above them
    :raises PlaceError: at the first error
    """
    table, values, given = Table.of(draws, "draw"), dict[str, Json](), Seed(seed, shift)
    for name in table.values:
        if not name.isidentifier():
            raise table.complaint(
                "write a name of letters, digits and _, so that {name} can stand for it", name
            )
        known = Table.of({name: filled(table.values[name], values, "draw", name)}, "draw")
        values[name] = _draw_value(known, name, given, values)
    return values


def _draw_value(table: Table, name: str, seed: Seed, before: Mapping[str, Json]) -> Json:
    value = table.values[name]
    if isinstance(value, str):
        if value not in _PHRASES:
            raise table.complaint(f"{unknown_name('draw', value, _PHRASES)}; {_FORMS}", name)
        return _PHRASES[value](name, seed)
    if isinstance(value, list | tuple):
        return _choice_drawer(table, name, seed)(name, ())
    if not isinstance(value, Mapping):
        raise table.complaint(f"expected a draw, got {value!r}; {_FORMS}", name)
    inner, kind = table.table(name), next((kind for kind in _KINDS if kind in value), "")
    given = value.get("unlike", ())
    others = given if isinstance(given, list | tuple) else (given,)
    taken = [_earlier_value(inner, "unlike", other, before) for other in others]
    match kind:
        case "one_of":
            pick = _choice_drawer(inner.only(kind, *_BESIDE), kind, seed)
        case "pattern":
            pick = _pattern_drawer(inner.only(kind, *_BESIDE).text(kind), seed)
        case "from" | "to":
            pick = _range_drawer(inner.only("from", "to", *_BESIDE), seed, len(taken))
        case "largest_first":
            return _sorted_by_size(inner.only(kind, "by"), before)
        case "":
            raise inner.only(*_BESIDE, *_KINDS).complaint(_FORMS)
        case _:
            return _compute_value(inner.only(kind), kind, before)
    if "several" not in value:
        return pick(name, taken)
    values = list[Json]()
    for place in range(inner.whole("several", 1)):
        values.append(pick(f"{name} {place}", (*taken, *values)))
    return values


_BESIDE: Final = ("unlike", "several")


def _choice_drawer(table: Table, key: str, seed: Seed) -> _Pick:
    given = table.values[key]
    items = LISTS.get(given) if isinstance(given, str) else given
    if not isinstance(items, list | tuple) or not items:
        lists = ", ".join(LISTS)
        raise table.complaint(f"expected a list of at least one value, or one of the lists {lists}", key)
    try:
        canonical(list(items))
    except (TypeError, ValueError):
        raise table.complaint("expected values that JSON can hold", key) from None

    def pick(label: str, taken: Sequence[Json]) -> Json:
        # Where all are taken, one is drawn twice rather than none.
        left = [item for item in items if item not in taken] or items
        return left[seed.below(label, len(left))]

    return pick


def _pattern_drawer(text: str, seed: Seed) -> _Pick:
    def letter(char: str, label: str) -> str:
        letters = {"#": "0123456789", "?": _LETTERS}.get(char)
        return seed.one_of(label, letters) if letters else char

    def pick(label: str, taken: Sequence[Json]) -> Json:
        names = (f"{label}/{again}" if again else label for again in range(1_000))
        texts = (
            "".join(letter(char, f"{name}/{place}") for place, char in enumerate(text)) for name in names
        )
        return next((one for one in texts if one not in taken), text)

    return pick


def _range_drawer(inner: Table, seed: Seed, others: int) -> _Pick:
    for key in ("from", "to"):
        if type(inner.values.get(key)) is not int:
            raise inner.complaint(f"expected a whole number; {_FORMS}", key)
    least, most = cast("int", inner.values["from"]), cast("int", inner.values["to"])
    if most - least < others + inner.whole("several", 1, 1) - 1:
        raise inner.complaint(f"from {least} to {most} leaves no number; write a larger one", "to")

    def pick(label: str, taken: Sequence[Json]) -> Json:
        tries = (least + seed.below(f"{label}/{again}", most - least + 1) for again in count())
        return next(one for one in tries if one not in taken)

    return pick


def _compute_value(inner: Table, operation: str, before: Mapping[str, Json]) -> Json:
    given = inner.values[operation]
    parts = given if isinstance(given, list | tuple) else [given]
    if all(type(part) is int for part in parts):
        raise inner.complaint("name the numbers that were drawn before", operation)
    numbers = [
        part if type(part) is int else _earlier_value(inner, operation, part, before) for part in parts
    ]
    for part, number in zip(parts, numbers, strict=True):
        if type(number) is not int:
            raise inner.complaint(f"{part!r} is not drawn as a number; draw it with from and to", operation)
    return _OPERATIONS[operation](cast("Sequence[int]", numbers))


def _sorted_by_size(inner: Table, before: Mapping[str, Json]) -> Json:
    """A drawn list in the order of the numbers of another one, or of its own."""
    key = "by" if "by" in inner.values else "largest_first"
    items, numbers = (
        _earlier_value(inner, each, inner.text(each), before) for each in ("largest_first", key)
    )
    lists = isinstance(items, list) and isinstance(numbers, list) and len(items) == len(numbers)
    if not lists or not all(type(number) is int for number in cast("list[Json]", numbers)):
        raise inner.complaint("name a list, drawn with several, and by = a list of as many numbers")
    ranked = zip(cast("list[int]", numbers), cast("list[Json]", items), strict=True)
    return [item for _, item in sorted(ranked, key=itemgetter(0), reverse=True)]


def _earlier_value(inner: Table, key: str, name: object, before: Mapping[str, Json]) -> Json:
    if name not in before:
        raise inner.complaint(f"{unknown_name('draw', str(name), before)} (above this one)", key)
    return before[str(name)]


_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACE: Final = rf"\{{(?P<name>{_NAME})(?P<path>(?:\.\w+)*)\}}"
_ANY: Final = re.compile(rf"\{{\{{({_NAME}(?:\.\w+)*)\}}\}}|{_PLACE}")
"""A placeholder, or the doubled braces that stand for the text itself; ``{rooms.0}`` is a part of a value."""
_BARE: Final = re.compile(_PLACE)
"""A placeholder alone: its value keeps its type."""


def filled(value: Json, values: Mapping[str, Json], *place: str) -> Json:
    """A value with the drawn values in it; a text that is one placeholder takes the value's type.

    >>> filled({"pieces": "{n}", "note": "{n} of {{n}}, {rooms.0}"}, {"n": 3, "rooms": ["hall"]})
    {'pieces': 3, 'note': '3 of {n}, hall'}

    :param place: where it stands, for errors
    :raises PlaceError: at a placeholder that nothing is drawn for
    """

    def value_of(found: re.Match[str]) -> Json:
        name, path = found["name"], found["path"]
        if name not in values:
            what = unknown_name("draw", name, values) if values else f"nothing is drawn for {found[0]}"
            raise PlaceError(place, f"{what} (for the text itself, write {{{found[0]}}})")
        part = pointed(values[name], path.replace(".", "/"))
        if path and part is None:
            raise PlaceError(place, f"{name!r} has no part {path[1:]!r}; it is {canonical(values[name])}")
        return part

    def change(text: str) -> Json:
        if bare := _BARE.fullmatch(text):
            return value_of(bare)
        return _ANY.sub(lambda found: f"{{{found[1]}}}" if found[1] else as_text(value_of(found)), text)

    return with_texts(value, change)


def escaped(value: Json) -> Json:
    """A value whose braces stand for themselves when it is filled.

    >>> filled(escaped("as {name}"), {})
    'as {name}'
    """
    return with_texts(value, lambda text: _BARE.sub(r"{{\1\2}}", text))


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


def rows_of(tool: Table, name: str, *, effect: bool) -> tuple[tuple[str, JsonText], ...]:
    """The answers of a tool, in their order, each as a world of tables takes it.

    :raises PlaceError: at the first error
    """
    tables = _read_tables(tool, "answers", 'a list: [{ when = { city = "Oslo" }, then = { celsius = 4 } }]')
    return tuple((name, _read_answer(table, effect=effect)) for table in tables)


def _read_answer(table: Table, *, effect: bool) -> JsonText:
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
    answer: dict[str, Json] = {key: values[key] for key in ("then", "read") if key in values}
    answer |= {key: table.table(key).values for key in ("when", "set") if key in values}
    if "error" in values:
        error = table.table("error").only("code", "message")
        if not error.text("code"):
            raise error.complaint("write a code, such as 'TIMEOUT'", "code")
        answer["error"] = {"code": error.text("code"), "message": error.text("message")}
    if "json" in values:  # TOML has no null
        found = read(table.text("json"))
        if not is_successful(found):
            raise table.complaint(f"not JSON: {found.failure()}", "json")
        answer["then"] = found.unwrap()
    pointers = (("read", table.text("read", "/")), *(("set", each) for each in table.table("set").values))
    for key, pointer in pointers:
        if not pointer.startswith("/"):
            raise table.complaint(f"expected a place in [world] such as '/stock/lamp', got {pointer!r}", key)
    done, times = table.switch("done", "error" not in values), table.whole("times")
    return canonical({**answer, "done": done, "times": times})


_SCENARIO_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
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
    if not _SCENARIO_NAME.fullmatch(name):
        what = "expected small letters, digits and _, at most 64, such as 'refund_once'"
        raise PlaceError(("name",), f"{what}; got {name!r}")


def _make_case(whole: Table, surface: ToolSurface, shift: int, seed: str) -> Case:
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
    for call in (call for line in read["good"].lines for call in calls_in(line)):
        if names and call["call"] not in names:
            raise table.complaint(unknown_name("tool", str(call["call"]), names), "good")
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
    table.only("id", "path", "draft", "mishap")
    path = table.text("path", "/draft/foo")
    mishap = table.choice("mishap", get_args(Mishap)) if "mishap" in table.values else ""
    world = Workspace(table.text("id"), table.table("draft").json(), cast("Mishap", mishap), allowed=path)
    return world, workspace_tools(path)


def _read_tables(table: Table, key: str, expected: str = "") -> tuple[Table, ...]:
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


_SCRIPTED_CALL: Final[Tree] = {
    "type": "object",
    "properties": {"call": {"type": "string"}, "with": {}},
    "required": ["call"],
    "additionalProperties": False,
}
_CALLS: Final[Tree] = {"type": "array", "items": _SCRIPTED_CALL, "minItems": 1}
_WHOLE_REPLY: Final[Tree] = {
    "type": "object",
    "properties": {
        "calls": _CALLS,
        "text": {"type": "string"},
        "fields": {"type": "object"},
        "call_fields": {"type": "object"},
    },
    "required": ["calls"],
    "additionalProperties": False,
}
_LINE: Final = canonical({"anyOf": [{"type": ["string", "number"]}, _SCRIPTED_CALL, _CALLS, _WHOLE_REPLY]})


def _read_lines(table: Table, kind: str) -> tuple[Line, ...]:
    lines = table.values[kind]
    if not isinstance(lines, list | tuple) or not lines:
        raise table.complaint(
            'expected a list of texts and calls: [{ call = "tool", with = {} }, "Done."]', kind
        )
    for line in lines:
        if violations(_LINE, canonical(line)):
            what = 'expected a text, or { call = "tool", with = { argument = "value" } }'
            raise table.complaint(f"{what}, got {line!r}", kind)
    return tuple(map(_as_line, lines))


def _as_line(line: Any) -> Line:  # noqa: ANN401 - a value of data
    if isinstance(line, int | float):
        return canonical(line)
    return [line] if isinstance(line, Mapping) and "call" in line else line
