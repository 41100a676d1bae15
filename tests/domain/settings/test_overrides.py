from __future__ import annotations

from hypothesis import given

from tests.strategies import json_objects
from toolreel_core._jsontext.canonical import Tree, canonical
from toolreel_core._settings.overrides import RESERVED, merged, without_reserved


def test_objects_are_merged_at_any_depth() -> None:
    base: Tree = {"provider": {"order": ["a"], "quantizations": {"fp8": True}}, "temperature": 0}
    patch: Tree = {"provider": {"quantizations": {"fp4": False}}}
    assert merged(base, patch) == {
        "provider": {"order": ["a"], "quantizations": {"fp8": True, "fp4": False}},
        "temperature": 0,
    }


def test_lists_and_all_else_are_replaced() -> None:
    assert merged({"stop": ["a", "b"]}, {"stop": []}) == {"stop": []}
    assert merged({"reasoning": {"effort": "low"}}, {"reasoning": None}) == {"reasoning": None}
    assert merged({"reasoning": None}, {"reasoning": {"effort": "low"}}) == {"reasoning": {"effort": "low"}}


def test_keys_keep_the_order_of_the_base_and_new_ones_follow() -> None:
    assert canonical(merged({"b": 1, "a": {"y": 1}}, {"c": 3, "a": {"z": 2, "y": 0}, "b": 2})) == (
        '{"b":2,"a":{"y":0,"z":2},"c":3}'
    )


@given(json_objects, json_objects)
def test_a_patch_changes_neither_itself_nor_its_base_and_once_is_enough(base: Tree, patch: Tree) -> None:
    before = canonical([base, patch])
    once = merged(base, patch)
    assert canonical([base, patch]) == before
    assert canonical(merged(once, patch)) == canonical(once)
    assert merged(base, {}) == base
    assert merged({}, patch) == patch


def test_what_has_an_owner_is_taken_out_of_a_patch_and_named_in_its_order() -> None:
    patch: Tree = {"stream": True, "temperature": 0, **dict.fromkeys(reversed(RESERVED))}
    kept, ignored = without_reserved(patch)
    assert kept == {"temperature": 0}
    assert ignored == ("stream", "response_format", "tool_choice", "tools", "messages", "model")


def test_only_the_top_of_a_body_is_reserved() -> None:
    patch: Tree = {"provider": {"model": "x", "stream": True}}
    assert without_reserved(patch) == (patch, ())
