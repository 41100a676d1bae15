"""Generic types and recursive aliases as types of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar, Union

import msgspec
import pytest
from typing_extensions import TypeAliasType

from tests.samples import complaint
from toolreel.tools import output_of, signature_of
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, as_tree, parse, tree_at

T = TypeVar("T")
U = TypeVar("U")
N = TypeVar("N", int, float)
B = TypeVar("B", bound=str)


@dataclass
class Box(Generic[T]):
    item: T
    more: list[T] = field(default_factory=list)


@dataclass
class Labelled(Box[int], Generic[T]):
    """Its own variable is that of its base, where it is an integer."""

    label: T | None = None


@dataclass
class Node(Generic[T]):
    value: T
    next: Node[T] | None = None


class Entry(TypedDict, Generic[T]):
    item: T
    note: NotRequired[Annotated[T, "What it is."]]


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
ALIAS: Any = TypeAliasType  # so that checkers of types take what is wrong


def taking(hint: object) -> Callable[..., object]:
    def tool(value: Any) -> None:  # noqa: ANN401 - the hint is set below
        pass

    tool.__annotations__["value"] = hint
    return tool


def read(hint: object, value: Json) -> object:
    return signature_of(taking(hint)).arguments.keyword_arguments("tool", {"value": value}, None)["value"]


def schema(hint: object) -> Any:  # noqa: ANN401 - any JSON
    tree = as_tree(parse(signature_of(taking(hint)).definition.parameters))
    return tree_at(tree, "properties")["value"]


@pytest.mark.parametrize(
    ("hint", "written", "expected"),
    [
        (Box[int], {"item": 1}, Box(1)),
        (Box[str], {"item": "a", "more": ["b"]}, Box("a", ["b"])),
        (Box[Pair[bool]], {"item": {"one": True}}, Box(Pair(True))),
        (Labelled[str], {"item": 1, "more": [2], "label": "a"}, Labelled(1, [2], "a")),
        (Node[int], {"value": 1, "next": {"value": 2}}, Node(1, Node(2))),
        (Entry[int], {"item": 1, "note": 2}, {"item": 1, "note": 2}),
        (Named[int, str], {"item": 1, "name": "a"}, {"item": 1, "name": "a"}),
        (Pair[str], {"one": "a"}, Pair("a")),
        (Struct[int], {"item": 1}, Struct(1)),
        (Box, {"item": [1]}, Box([1])),
        (Numbers, {"number": 1.5, "text": "a"}, Numbers(1.5, "a")),
        (Listed[int], [1], [1]),
        (Jsonish, {"a": ["b", None]}, {"a": ["b", None]}),
        (OldJson, {"a": ["b"]}, {"a": ["b"]}),
    ],
)
def test_a_value_is_read_as_its_type(hint: object, written: Json, expected: object) -> None:
    assert read(hint, written) == expected


def test_a_part_of_a_generic_type_has_the_type_of_its_argument() -> None:
    integer = {"type": "integer"}
    assert schema(Labelled[str])["properties"]["item"] == integer
    assert schema(Box[Pair[int]])["properties"]["item"]["properties"]["one"] == integer


def test_recursive_types_are_shared_under_names_of_their_own() -> None:
    assert schema(Node[int] | Node[str]) == {
        "anyOf": [{"$ref": "#/$defs/Node_int"}, {"$ref": "#/$defs/Node_str"}]
    }
    assert schema(Jsonish) == {"$ref": "#/$defs/Jsonish"}
    assert output_of(Box[int]).spec.schema == output_of(Box[int]).spec.schema


def test_an_alias_that_means_nothing_is_refused() -> None:
    told = complaint(ConfigError, lambda: signature_of(taking(ALIAS("itself", "itself"))))
    assert told == "tool 'tool': the schema refers to itself without end"
    lost = ALIAS("lost", "list[Nowhere]")
    assert "annotations cannot be read: name 'Nowhere' is not defined" in complaint(
        ConfigError, lambda: signature_of(taking(lost))
    )
