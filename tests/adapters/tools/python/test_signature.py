from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum, IntEnum
from functools import partial
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)

import pytest
from pydantic import Field

from tests.adapters.tools.python.test_json_types import Box, Colour, taking
from tests.samples import complaint
from toolreel.tools import RunContext, ToolError, argument_types, signature_of
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, parse
from toolreel_core._tools import ToolDefinition


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Place(TypedDict):
    name: str
    floor: NotRequired[int]
    tags: Annotated[list[str], "What it is good for."]
    desk: Annotated[NotRequired[bool], "Whether it has one."]


class Loose(TypedDict, total=False):
    left: int
    right: Required[int]


_T = TypeVar("_T")


@dataclass
class Endless(Generic[_T]):
    """Each level has another type."""

    inner: Endless[list[_T]]


class Threading:
    """Nothing that JSON has."""


class Odd(Enum):
    ONE = b"1"


def schema_of(function: Callable[..., object]) -> Mapping[str, Any]:
    tree = parse(signature_of(function).definition.parameters)
    assert isinstance(tree, Mapping)
    return tree


PAIR: Json = {
    "type": "array",
    "minItems": 2,
    "maxItems": 2,
    "prefixItems": [{"type": "integer"}, {"type": "string"}],
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (None, {"type": "null"}),
        (Any, {}),
        (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045 - the old way is still written
        (Union[int, str], {"type": ["integer", "string"]}),  # noqa: UP007
        (int | str | None, {"type": ["integer", "string", "null"]}),
        (list[int] | None, {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
        (Any | None, {"anyOf": [{}, {"type": "null"}]}),
        (Literal["a", 2, None], {"type": ["string", "integer", "null"], "enum": ["a", 2, None]}),
        (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Literal[1, 2.5], {"type": "number", "enum": [1, 2.5]}),
        (list, {"type": "array"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, str], PAIR),
        (dict, {"type": "object"}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": {}}),
        (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
        (Annotated[int, 7, ["unhashable"]], {"type": "integer"}),
        (
            Annotated[int | None, {"le": 9}, "How many."],
            {"type": ["integer", "null"], "description": "How many."},
        ),
    ],
)
def test_a_type_becomes_a_schema(hint: object, schema: Json) -> None:
    assert schema_of(taking(hint))["properties"] == {"value": schema}


def test_a_typed_dict_knows_its_keys_even_where_annotations_are_postponed() -> None:
    assert schema_of(taking(Place))["properties"]["value"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "floor": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "What it is good for."},
            "desk": {"type": "boolean", "description": "Whether it has one."},
        },
        "required": ["name", "tags"],
        "additionalProperties": False,
    }
    assert schema_of(taking(list[Loose]))["properties"]["value"]["items"]["required"] == ["right"]


def test_words_at_the_type_or_in_a_field_win_over_the_docstring() -> None:
    async def ping(
        host: Annotated[str, "From the type."],
        port: int,
        text: Annotated[str, Field(description="From the field.")],
    ) -> None:
        """Ping.

        Args:
            host: From the docstring.
            port: From the docstring.
            text: From the docstring.
        """

    assert signature_of(ping).definition.description == "Ping."
    assert {name: schema["description"] for name, schema in schema_of(ping)["properties"].items()} == {
        "host": "From the type.",
        "port": "From the docstring.",
        "text": "From the field.",
    }


def test_parameters_keep_their_order_and_those_without_a_default_are_required() -> None:
    def book(room: str, day: int = 1, *, colour: Colour = Colour.RED, note: str | None = None) -> None:
        pass

    assert schema_of(book) == {
        "type": "object",
        "properties": {
            "room": {"type": "string"},
            "day": {"type": "integer", "default": 1},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "note": {"type": ["string", "null"]},
        },
        "required": ["room"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("default", "stored"),
    [
        (True, True),
        ((1, 2), [1, 2]),
        ({"a": Level.LOW}, {"a": 1}),
        (Box(3), {"size": 3}),
        (date(2026, 11, 22), "2026-11-22"),
    ],
)
def test_a_default_is_told(default: object, stored: Json) -> None:
    assert schema_of(taking(Any, default))["properties"]["value"] == {"default": stored}


VALUE = "tool 'tool', parameter 'value'"
CARRIED = "cannot be carried by JSON; use str, int, float, bool, list, dict or TypedDict"


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (bytes, f"{VALUE}: <class 'bytes'> {CARRIED}"),
        (complex | None, f"{VALUE}: <class 'complex'> {CARRIED}"),
        (dict[str, Threading], f"{VALUE}: {Threading!r} {CARRIED}"),
        (3, f"{VALUE}: 3 {CARRIED}"),
        (Endless[int], f"{VALUE}: its type is recursive in a way that a schema cannot express; use dict"),
        (Literal[b"x"], f"{VALUE}: the choice b'x' is not JSON; use None and decide inside"),
        (Odd, f"{VALUE}: the choice <Odd.ONE: b'1'> is not JSON; use None and decide inside"),
    ],
)
def test_a_type_that_json_cannot_carry_is_refused(hint: object, told: str) -> None:
    assert complaint(ConfigError, lambda: signature_of(taking(hint))) == told


@pytest.mark.parametrize(
    "default", [b"x", Threading(), Field(3), float("nan"), float("-inf"), [{2j}], {"a": Odd.ONE}]
)
def test_a_default_that_is_not_json_is_refused(default: object) -> None:
    told = complaint(ConfigError, lambda: signature_of(taking(Any, default)))
    assert told.startswith(f"{VALUE}: its default ")
    assert told.endswith(" is not JSON; use None and decide inside")


def test_annotations_that_cannot_be_read_are_refused() -> None:
    for hint, why in (
        ("Nowhere", "name 'Nowhere' is not defined"),
        ("int (", "Forward reference must be an expression"),
        ("Colour.GREEN", "GREEN"),
        ("int + str", "unsupported operand"),
    ):
        told = complaint(ConfigError, partial(signature_of, taking(hint)))
        assert argument_types(ToolDefinition.of("t"), taking(hint)).context is None
        assert told.startswith("tool 'tool': its annotations cannot be read: ")
        assert why in told


def test_a_partial_keeps_to_itself_what_it_has_bound() -> None:
    def search(key: str, text: str, limit: int = 3) -> str:
        """Search."""
        return f"{key} {text} {limit}"

    definition = signature_of(partial(search, "secret", limit=9)).definition
    assert (definition.name, definition.description) == ("search", "Search.")
    assert "secret" not in definition.parameters
    assert schema_of(partial(search, "secret", limit=9)) == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "hint",
    [
        RunContext,
        RunContext[str],
        RunContext[str] | None,
        Annotated[RunContext[str], "The run."],
        "RunContext[dict[str, int]]",
    ],
)
def test_a_run_context_is_never_told(hint: object) -> None:
    def count(run: object, part: str) -> str:
        return f"{part} {run}"

    count.__annotations__["run"] = hint
    definition, arguments = signature_of(count)
    assert (arguments.context, list(arguments.kinds)) == ("run", ["part"])
    assert "run" not in definition.parameters
    assert argument_types(ToolDefinition.of("count"), count).context == "run"


def test_all_that_does_not_read_as_its_type_is_told_at_once() -> None:
    def plan(day: date, hours: list[int], level: Level, place: str) -> None: ...

    told = complaint(
        ToolError,
        lambda: signature_of(plan).arguments.keyword_arguments(
            "plan", {"day": "soon", "hours": [1, "two"], "level": 7, "place": 1}, None
        ),
    )
    assert told == (
        '/day: expected a date such as "2026-11-22", got "soon"; /hours/1: expected an integer, got "two"; '
        "/level: expected one of 1, 2, got 7. Call plan again with the corrected arguments."
    )


def many(*values: int) -> None: ...
def any_name(**values: int) -> None: ...
def nameless(value: int, /) -> None: ...
def untyped(a: int, b) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001 # pyright: ignore[reportMissingParameterType]


BY_NAME = "models pass arguments by name; make it a plain parameter"


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (many, f"tool 'many', parameter 'values': {BY_NAME}"),
        (any_name, f"tool 'any_name', parameter 'values': {BY_NAME}"),
        (nameless, f"tool 'nameless', parameter 'value': {BY_NAME}"),
        (untyped, "tool 'untyped', parameter 'b': has no type; annotate it, for example `b: str`"),
        (max, "wrap it in a function of your own"),
        (lambda: 1, " has no name that a model could call; give it one with def"),
        (partial(lambda: 1), " has no name that a model could call; give it one with def"),
    ],
)
def test_a_function_that_a_model_cannot_call_is_refused_with_a_remedy(
    function: Callable[..., object], told: str
) -> None:
    assert complaint(ConfigError, lambda: signature_of(function)).endswith(told)
