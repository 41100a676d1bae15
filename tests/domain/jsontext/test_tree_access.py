from __future__ import annotations

import math
from types import MappingProxyType

import pytest
from hypothesis import given

from tests.samples import complaint
from tests.strategies import json_objects
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    Json,
    Tree,
    as_tree,
    canonical,
    in_numeric_order,
    json_text,
    merged,
    tree_at,
    value_at_json_pointer,
)


@pytest.mark.parametrize("value", [None, True, 3, "text", [{}]])
def test_what_is_no_object_counts_as_an_empty_one(value: Json) -> None:
    assert as_tree(value) == {}
    assert tree_at({"a": value}, "a") == {}
    assert tree_at({"a": value}, "a", "b") == {}


def test_numbered_values_come_in_the_order_of_their_numbers() -> None:
    numbered: dict[str, Json] = {"10": "c", "002": "b", "1": "a", "9" * 5000: "d"}
    assert [*in_numeric_order(numbered).values()] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "other", [{}, {"id": 1}, {"0": 1, "id": 2}, {"-1": 1}, {"1.5": 1}, {"\u0661": 1}, {"": 1}]
)
def test_any_other_object_is_no_list(other: dict[str, Json]) -> None:
    assert in_numeric_order(other) == {}


def test_lists_and_all_else_are_replaced() -> None:
    assert merged({"stop": ["a", "b"]}, {"stop": []}) == {"stop": []}
    assert merged({"reasoning": {"effort": "low"}}, {"reasoning": None}) == {"reasoning": None}
    assert merged({"reasoning": None}, {"reasoning": {"effort": "low"}}) == {"reasoning": {"effort": "low"}}


@given(json_objects, json_objects)
def test_a_patch_changes_neither_itself_nor_its_base_and_once_is_enough(base: Tree, patch: Tree) -> None:
    before = canonical([base, patch])
    once = merged(base, patch)
    assert canonical([base, patch]) == before
    assert canonical(merged(once, patch)) == canonical(once)
    assert merged(base, {}) == base
    assert merged({}, patch) == patch


ALLOWED = "use None, a bool, a number, a str, a list or a dict"
SURROGATE = "holds a lone surrogate, which cannot be sent"
ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": [1, {"b": math.inf}]}, "options.a[1].b: inf is not JSON; use a finite number"),
        ({"a": math.nan, "b": -math.inf}, "options.a: nan is not JSON; use a finite number"),
        ([10**5_000], "options[0]: an integer this long is not JSON; use a finite number"),
        ({"a": {1: 2}}, "options.a: the key 1 is not JSON; use a str"),
        ({None: 2}, "options: the key None is not JSON; use a str"),
        ({"a": ["\ud83d"]}, f"options.a[0]: {SURROGATE}"),
        ({"\ud83d": 1}, rf"options: the key '\ud83d' {SURROGATE}"),
        ({"a": {1}}, f"options.a: a set is not JSON; {ALLOWED}"),
        (MappingProxyType({}), f"options: a mappingproxy is not JSON; {ALLOWED}"),
        (b"x", f"options: a bytes is not JSON; {ALLOWED}"),
        (ENDLESS, "options: nested deeper than 128 levels"),
    ],
)
def test_what_json_cannot_carry_is_told_with_its_place(value: object, why: str) -> None:
    assert complaint(ConfigError, lambda: json_text(value, "options")) == why


def test_a_value_may_nest_as_deep_as_it_can_be_read_back() -> None:
    deep: Json = []
    for _ in range(127):
        deep = [deep]
    assert json_text(deep, "options") == "[" * 128 + "]" * 128
    assert complaint(ConfigError, lambda: json_text([deep], "options")).endswith("deeper than 128 levels")


def test_a_json_pointer_leads_through_objects_and_lists() -> None:
    tree: Tree = {"$defs": {"a/b": {"c~d": 1}}, "list": [2]}
    assert value_at_json_pointer(tree, "#/$defs/a~1b/c~0d") == 1
    assert value_at_json_pointer(tree, "#") == tree
    assert value_at_json_pointer(tree, "#/list/0") == 2
    assert value_at_json_pointer(tree, "#/list/1") is None
    assert value_at_json_pointer(tree, "#/$defs/x/y") is None
