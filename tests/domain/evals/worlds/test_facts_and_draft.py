from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from toolreel_core._jsontext import Json, JsonText, canonical, parse
from toolreel_core.evals import Workspace

BAR: Json = [{"op": "set", "path": "/draft/foo", "value": "bar"}]


def contents(text: JsonText) -> Mapping[str, Any]:
    tree = parse(text)
    assert isinstance(tree, Mapping)
    return tree


def call(world: Workspace, name: str, **arguments: Json) -> tuple[Workspace, Mapping[str, Any]]:
    after, text = world.call(name, arguments)
    return after, contents(text)


def code(result: Mapping[str, Any]) -> str:
    assert result["ok"] is False
    return str(result["errors"][0]["code"])


WORLD = Workspace("w-1", canonical({"list": [1, 2]}))


def test_a_read_gives_the_whole_or_what_was_selected() -> None:
    _, whole = call(WORLD, "state_get")
    there = {"id": WORLD.id, **whole["data"]["snapshot"]}
    assert there == WORLD.contents()
    _, part = call(WORLD, "state_get", select=["/draft/list/1", "/draft/none"])
    assert part["data"] == {"snapshot": {"/draft/list/1": 2, "/draft/none": None}}


def test_pointers_are_understood_however_a_model_writes_them() -> None:
    _, result = call(WORLD, "state_get", select=[" `/draft/list` ", "#/draft/list", "draft/list", "'", ""])
    assert result["data"] == {"snapshot": {"/draft/list": [1, 2]}}


@pytest.mark.parametrize("select", ["/draft", {"a": 1}, [1], 7])
def test_a_selection_that_is_no_list_of_texts_is_refused(select: Json) -> None:
    _, result = call(WORLD, "state_get", select=select)
    assert code(result) == "ARGUMENT_ERROR"


@pytest.mark.parametrize(
    "ops",
    [
        None,
        [],
        "set",
        {"op": "set"},
        ["set"],
        [{"op": "set", "path": "/draft/other", "value": 1}],
        [{"op": "delete", "path": "/draft/foo"}],
        [{"op": "set", "path": "/draft/foo/deep", "value": 1}],
    ],
)
def test_any_other_patch_is_refused_and_changes_nothing(ops: Json) -> None:
    after, result = call(WORLD, "state_patch", ops=ops)
    assert code(result) == "ARGUMENT_ERROR"
    assert after.contents() == WORLD.contents()


@pytest.mark.parametrize("given", [None, "", "  ", "workspace_id", WORLD.id, f" {WORLD.id} "])
@pytest.mark.parametrize("name", ["state_get", "state_patch"])
def test_the_current_workspace_is_meant_in_many_ways(name: str, given: Json) -> None:
    assert call(WORLD, name, workspace_id=given, ops=BAR)[1]["ok"]


@pytest.mark.parametrize("name", ["state_get", "state_patch"])
@pytest.mark.parametrize("given", ["another", 7])
def test_another_workspace_is_not_there(name: str, given: Json) -> None:
    after, result = call(WORLD, name, workspace_id=given, ops=BAR)
    assert code(result) == "WORKSPACE_NOT_FOUND"
    assert after.contents() == WORLD.contents()


def test_any_other_tool_is_not_implemented() -> None:
    assert code(call(WORLD, "facts_commit")[1]) == "TOOL_NOT_IMPLEMENTED"
