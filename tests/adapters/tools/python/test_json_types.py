from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, Flag
from functools import partial
from pathlib import Path
from types import GenericAlias
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID

import annotated_types as at
import msgspec
import pytest
import typing_extensions
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    Field,
    PositiveInt,
    StringConstraints,
    TypeAdapter,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType

from tests.samples import complaint
from toolreel.tools import InvalidValue, JsonType, Types, output_of, signature_of
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._schema import violations


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Access(Flag):
    READ = 1
    WRITE = 4


class Place(TypedDict):
    day: date
    colour: NotRequired[Colour]


class OtherPlace(typing_extensions.TypedDict):
    day: date


@dataclass
class Point:
    """A point.

    Attributes:
        x: To the right.
    """

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    seen: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is to the right of 0")


@dataclass
class Folder:
    name: str
    inside: list[Folder] = field(default_factory=list)


class Span(NamedTuple):
    start: date
    days: int = 1


class Room(BaseModel):
    title: str = Field(description="What it is called.")
    free_on: date
    next_to: list[Room] = []


class Sent(BaseModel):
    by_name: int = Field(validation_alias="named")
    by_choice: int = Field(validation_alias=AliasChoices("one", "two"))


class Shelf(BaseModel):
    label: str


@pydantic_dataclass
class Box:
    size: int


T = TypeVar("T")
U = TypeVar("U")
N = TypeVar("N", int, float)
B = TypeVar("B", bound=str)


@dataclass
class Holder(Generic[T]):
    item: T
    more: list[T] = field(default_factory=list)


@dataclass
class Labelled(Holder[int], Generic[T]):
    """Its own variable is that of its base, where it is an integer."""

    label: T | None = None


@dataclass
class Node(Generic[T]):
    value: T
    next: Node[T] | None = None


@dataclass
class Tree(Generic[T]):
    value: T
    inside: list[Tree[T]] = field(default_factory=list)


class Entry(TypedDict, Generic[T]):
    item: T
    note: NotRequired[Annotated[T, "What it is."]]


class Found(TypedDict):
    places: list[Annotated[int, ["unhashable"]]]
    more: NotRequired[Annotated[int, ["unhashable"]]]


class Named(Entry[T], Generic[T, U]):
    name: U


class Pair(NamedTuple, Generic[T]):
    one: T
    other: int = 1


class Struct(msgspec.Struct, Generic[T]):
    item: T


@dataclass
class Numbers(Generic[N, B]):
    number: N
    text: B


Jsonish = TypeAliasType("Jsonish", "dict[str, Jsonish] | list[Jsonish] | str | None")
Listed = TypeAliasType("Listed", list[T], type_params=(T,))
OldJson = Union[dict[str, "OldJson"], list["OldJson"], str]  # noqa: UP007 - as it is written where it recurs
Mapped = Annotated[int, {"unhashable": 1}]
UserId = NewType("UserId", int)
Alias = TypeAliasType("Alias", list[date])
DAY = date(2026, 11, 22)


def kind_of(hint: object) -> JsonType:
    return Types().part("it", hint, None)[0]


@pytest.mark.parametrize(
    ("hint", "value", "read"),
    [
        (Decimal, 0.1, Decimal("0.1")),
        (Literal[Colour.RED, 1, "one"], 1.0, 1),
        (UserId, 7, 7),
        (Alias, ["2026-11-22"], [DAY]),
        (date | str, "2026-11-22", "2026-11-22"),
        (Point | Span, {"start": "2026-11-22"}, Span(DAY)),
        (OtherPlace, {"day": "2026-11-22"}, {"day": DAY}),
        (Place, {"day": "2026-11-22", "colour": "red"}, {"day": DAY, "colour": Colour.RED}),
        (Folder, {"name": "a", "inside": [{"name": "b"}]}, Folder("a", [Folder("b")])),
        (Box, {"size": 3}, Box(3)),
        (
            list[Sent],
            [{"named": 3, "one": 4}],
            [Sent.model_construct(by_name=3, by_choice=4)],
        ),  # the keys of its schema
        (list[Shelf | None], [{"label": "a"}, None], [Shelf(label="a"), None]),
        (PositiveInt, 3, 3),
        (Annotated[str, AfterValidator(str.upper)], "a", "A"),
        (Annotated[list[int] | None, at.Len(1, 2)], None, None),
        (Holder[Pair[bool]], {"item": {"one": True}}, Holder(Pair(True))),
        (Labelled[str], {"item": 1, "more": [2], "label": "a"}, Labelled(1, [2], "a")),
        (Node[int], {"value": 1, "next": {"value": 2}}, Node(1, Node(2))),
        (Named[int, str], {"item": 1, "note": 2, "name": "a"}, {"item": 1, "note": 2, "name": "a"}),
        (Struct[int], {"item": 1}, Struct(1)),
        (Holder, {"item": [1]}, Holder([1])),
        (Numbers, {"number": 1.5, "text": "a"}, Numbers(1.5, "a")),
        (Listed[int], [1], [1]),
        (Jsonish, {"a": ["b", None]}, {"a": ["b", None]}),
        (dict[str, Mapped], {"a": 1}, {"a": 1}),
        (NewType("Few", list[Mapped]), [1], [1]),
        (TypeVar("L", bound=list[Mapped]), [1], [1]),
        (Holder[Mapped], {"item": 1}, Holder(1)),
        (Tree[Mapped], {"value": 1, "inside": [{"value": 2}]}, Tree(1, [Tree(2)])),
        (Listed[Mapped], [1], [1]),
        (Found, {"places": [1], "more": 2}, {"places": [1], "more": 2}),
        (Literal[[1]], [1], [1]),
        (Literal[1, True], 1, 1),
        (Access, 5.0, Access.READ | Access.WRITE),
        (Literal[1, True], True, True),
    ],
)
def test_a_value_is_read_as_its_type(hint: object, value: Json, read: object) -> None:
    found = kind_of(hint).read(value)
    assert found == read
    assert type(found) is type(read)


def test_a_dataclass_that_holds_itself_is_referred_to() -> None:
    types, reference = Types(), {"$ref": "#/$defs/Folder"}
    assert types.json_type(list[Folder]).schema == {"type": "array", "items": reference}
    assert types.json_type(Folder).schema == reference
    inside: Json = {"type": "array", "items": reference}
    assert types.shared["Folder"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "inside": inside},
        "required": ["name"],
        "additionalProperties": False,
    }


def test_recursive_types_are_shared_under_names_of_their_own() -> None:
    assert kind_of(Node[int] | Node[str]).schema == {
        "anyOf": [{"$ref": "#/$defs/Node_int"}, {"$ref": "#/$defs/Node_str"}]
    }
    assert kind_of(Jsonish).schema == {"$ref": "#/$defs/Jsonish"}
    assert output_of(Holder[int]).spec.schema == output_of(Holder[int]).spec.schema


def taking(hint: object, *default: object) -> Callable[..., None]:
    """A tool with one parameter of this type."""

    def tool(value: Any) -> None:  # noqa: ANN401 - the hint is set below
        pass

    tool.__annotations__ = {"value": hint}
    tool.__defaults__ = default or None
    return tool


def test_an_alias_is_resolved_or_refused_where_a_function_names_it() -> None:
    given: dict[str, Json] = {"value": {"a": ["b"]}}
    assert signature_of(taking(OldJson)).arguments.keyword_arguments("tool", given, None) == given
    made: Any = TypeAliasType  # so that checkers of types take what is wrong
    told = complaint(ConfigError, lambda: signature_of(taking(made("itself", "itself"))))
    assert told == "tool 'tool': the schema refers to itself without end"


def test_a_sum_of_flags_is_a_default() -> None:
    parameters = signature_of(taking(Access, Access.READ | Access.WRITE)).definition.parameters
    assert not violations(parameters, canonical({"value": 5}))
    assert '"default":5' in parameters


def test_the_parts_of_a_dataclass_are_told_with_words_and_defaults() -> None:
    assert kind_of(Point).schema == {
        "type": "object",
        "properties": {
            "x": {"description": "To the right.", "type": "integer"},
            "y": {"type": "integer", "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["x"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("hint", "value", "told"),
    [
        (float, 10**400, "expected a number below 1.8e308, got 1000000000000000000000"),
        (date, "tomorrow", 'expected a date such as "2026-11-22", got "tomorrow"'),
        (Decimal, "NaN", 'expected a decimal number such as "12.50", got "NaN"'),
        (Colour, "green", 'expected one of "red", "blue", got "green"'),
        (Access, 2, "expected a sum of 1, 4, got 2"),
        (Literal[1], True, "expected one of 1, got true"),
        (list[int], [1, "b"], '/1: expected an integer, got "b"'),
        (dict[int, int], {"a": 1}, '/a: expected an integer, got "a"'),
        (Point, {"x": -1}, "x is to the right of 0"),
        (date | None, "x", 'expected a date such as "2026-11-22", got "x"'),
        (Box, {"size": "a"}, "/size: Input should be a valid integer, unable to parse string as an integer"),
    ],
)
def test_what_does_not_read_is_told_with_its_place(hint: object, value: Json, told: str) -> None:
    assert complaint(InvalidValue, lambda: kind_of(hint).read(value)).startswith(told)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (datetime, {"type": "string", "format": "date-time"}),
        (Path, {"type": "string", "format": "path"}),
        (Decimal, {"type": ["number", "string"]}),
        (PositiveInt, {"type": "integer", "exclusiveMinimum": 0}),
        (Annotated[int, at.Interval(ge=1, lt=9)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 9}),
        (Annotated[float, at.MultipleOf(0.5)], {"type": "number", "multipleOf": 0.5}),
        (Annotated[str, at.Len(1, 9)], {"type": "string", "minLength": 1, "maxLength": 9}),
        (
            Annotated[dict[str, Any], at.MinLen(1)],
            {"type": "object", "additionalProperties": {}, "minProperties": 1},
        ),
        (Annotated[int | None, at.Ge(1)], {"type": ["integer", "null"], "minimum": 1}),
        (
            Annotated[str, Field(pattern="^a", description="Begins with a.")],
            {"type": "string", "pattern": "^a", "description": "Begins with a."},
        ),
        (Annotated[str, typing_extensions.Doc("Words.")], {"type": "string", "description": "Words."}),
        (
            Annotated[str, StringConstraints(strip_whitespace=False, min_length=2)],
            {"type": "string", "minLength": 2},
        ),
        (Access, {"type": "integer", "minimum": 0, "maximum": 5}),
        (object, {}),
    ],
)
def test_constraints_and_formats_are_told(hint: object, schema: Json) -> None:
    assert kind_of(hint).schema == schema


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ({"a": int}, "it: {'a': <class 'int'>} cannot be carried by JSON"),
        (Annotated[int, Field(default=3)], "it: a default in Field is lost; write it after ="),
        (list[Annotated[int, Field(default_factory=int)]], "it: a default in Field is lost; write it"),
        (GenericAlias(list, ([int],)), "it: [<class 'int'>] cannot be carried by JSON"),
        pytest.param(
            TypeVar("C", Mapped, str),
            "it: unhashable type",
            marks=pytest.mark.skipif(sys.version_info >= (3, 13), reason="typing makes this union"),
        ),
    ],
)
def test_a_hint_that_is_no_type_is_refused(hint: object, told: str) -> None:
    assert complaint(ConfigError, lambda: kind_of(hint)).startswith(told)


def test_what_cannot_be_told_is_refused() -> None:
    class Unknown(BaseModel):
        maker: Callable[[], int]

    assert complaint(ConfigError, lambda: kind_of(Unknown)).startswith("it: no schema can be made of ")
    for hint in (
        Annotated[date, at.Ge(DAY)],
        Annotated[Decimal, at.Gt(0)],
        Annotated[str, at.Predicate(str.isupper)],
        Annotated[Decimal, Field(max_digits=3)],
        Annotated[Decimal, Field(decimal_places=0)],
        Annotated[str, StringConstraints(strip_whitespace=True)],
        Annotated[str, StringConstraints(to_upper=True)],
        Annotated[str, StringConstraints(to_lower=True)],
        Annotated[datetime, msgspec.Meta(tz=True)],
        Annotated[datetime, msgspec.Meta(tz=False)],
    ):
        assert complaint(ConfigError, partial(kind_of, hint)).endswith("check it inside the function")


BOTH_WAYS: Sequence[tuple[object, Sequence[Json]]] = [
    (int, [1, 1.0, 1.5, "x", None]),
    (float, [3, 1.5, "x"]),
    (Path, ["notes/a.txt", 1]),
    (tuple[date, ...], [["2026-11-22"], ["x"]]),
    (frozenset[int], [[1, 1]]),
    (dict[int, date], [{"7": "2026-11-22"}, {"a": "2026-11-22"}]),
    (dict[Colour, int], [{"red": 1}, {"green": 1}]),
    (int | str, ["7", 7]),
    (str, ["", "a", 1, None]),
    (bool, [True, False, "x"]),
    (tuple[int, str], [[1, "a"], [1], [1, "a", 2]]),
    (dict[str, int], [{}, {"a": 1}, {"a": "x"}, []]),
    (int | None, [1, None, "x"]),
    (date, ["2026-11-22", "x", None]),
    (datetime, ["2026-11-22T09:30:00Z", "x"]),
    (time, ["09:30:00", "x"]),
    (UUID, ["c7f9d3a2-5b1e-4c6d-8e2f-0a1b2c3d4e5f", "x"]),
    (Decimal, ["1.5", 2, "x"]),
    (Colour, ["red", "green"]),
    (Literal["a", 1], ["a", 1, "b"]),
    (Point, [{"x": 1}, {"x": 1, "y": 2}, {"x": -1}, {}]),
    (Annotated[int, at.Gt(3)], [3, 4]),
    (Annotated[str, Field(pattern="^a", max_length=2)], ["ab", "b", "abc"]),
]


@pytest.mark.parametrize(("hint", "values"), BOTH_WAYS, ids=lambda value: str(value)[:40])
def test_values_read_as_they_do_with_pydantic(hint: Any, values: Sequence[Json]) -> None:  # noqa: ANN401
    ours, adapter = kind_of(hint), TypeAdapter[Any](hint)
    theirs = JsonType({}, lambda value: adapter.validate_json(canonical(value)))
    for value in values:
        found = taken(ours, value)
        assert found == taken(theirs, value)
        assert type(found) is type(taken(theirs, value))


def taken(kind: JsonType, value: Json) -> object:
    """What a value is read as, or the word for that it is not, by the schema or by the reader."""
    if violations(canonical(kind.schema), canonical(value)):
        return "refused"
    try:
        return kind.read(value)
    except (InvalidValue, ValueError):
        return "refused"
