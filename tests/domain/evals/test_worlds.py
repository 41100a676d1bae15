"""The worlds that tools act on: tables, workspaces, and places in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.evals_values import worked
from toolreel_core._config_checks import Table
from toolreel_core._jsontext import Json, canonical, parse, value_at_json_pointer
from toolreel_core._tools import envelope_of
from toolreel_core.evals import (
    TableWorld,
    WorkspaceWorld,
    failure,
    has_arguments,
    is_equivalent,
    read_answers,
    success_result_text,
    with_value,
)


def world(
    answers: list[dict[str, Any]], state: dict[str, Any] | None = None, *, effect: bool = False
) -> TableWorld:
    rows = read_answers(Table.of({"answers": answers}, "tool", "t"), "t", effect=effect)
    return TableWorld(rows, ("t",) if effect else (), canonical(state or {}))


def told(here: TableWorld, **arguments: Json) -> Json:
    return parse(here.call("t", arguments)[1])


def code(here: TableWorld, **arguments: Json) -> Json:
    return value_at_json_pointer(told(here, **arguments), "/errors/0/code")


def test_the_first_row_that_fits_answers() -> None:
    here = world(
        [
            {"when": {"city": "Oslo", "days": 2}, "then": {"c": 4}},
            {"when": {"city": "Oslo"}, "then": "$arguments/city"},
            {"then": [{"for": "$arguments/days"}, 1.5, None]},
        ]
    )
    assert told(here, city=" oslo ", days=2.0) == {"c": 4}
    assert told(here, city="OSLO") == "OSLO"
    assert told(here, days=[1]) == [{"for": [1]}, 1.5, None]
    assert told(here) == [{"for": None}, 1.5, None]


def test_the_state_is_read_and_set() -> None:
    state = {"stock": {"a/b": 3}, "name": "x"}
    here = world(
        [
            {"when": {"do": "read"}, "read": "/stock/$sku"},
            {"when": {"do": "set"}, "set": {"/stock/$sku": "$arguments/n"}},
            {"then": {}},
        ],
        state,
        effect=True,
    )
    assert told(here, do="read", sku="a/b") == 3
    assert code(here, do="read", sku=7) == "NOT_FOUND"
    after, output = here.call("t", {"do": "set", "sku": "c", "n": 9})
    assert '"noted":1' in output
    assert parse(after.state) == {"stock": {"a/b": 3, "c": 9}, "name": "x"}
    assert told(after, do="read", sku="c") == 9


def test_values_are_alike_whatever_their_form() -> None:
    assert is_equivalent({"b": [" X ", 2.0], "a": 1}, {"a": 1, "b": ["x", 2]})
    assert not is_equivalent(True, 1)
    assert not is_equivalent(0.5, 0)
    assert has_arguments({"a": None}, {"a": None})
    assert not has_arguments({}, {"a": None})
    assert has_arguments({}, "nothing")


@pytest.mark.parametrize(
    ("before", "pointer", "after"),
    worked("one place is set and the way to it made"),
)
def test_one_place_is_set_and_the_way_to_it_made(before: Json, pointer: str, after: Json) -> None:
    # A place that a list cannot have is not made: the list stays.
    assert with_value(before, pointer, "new") == after


def test_what_a_world_returns_is_an_envelope_already() -> None:
    for text in (success_result_text("add", {"sum": 3}), failure("add", "ARGUMENT_ERROR", "b is missing.")):
        assert envelope_of("add", text, limit=1_000).text() == text


BAR: Json = [{"op": "set", "path": "/draft/foo", "value": "bar"}]


def called(world: WorkspaceWorld, name: str, **arguments: Json) -> tuple[WorkspaceWorld, Mapping[str, Any]]:
    after, text = world.call(name, arguments)
    tree = parse(text)
    assert isinstance(tree, Mapping)
    return after, tree


WORLD = WorkspaceWorld("w-1", canonical({"list": [1, 2]}))


def test_a_read_gives_the_whole_or_what_was_selected() -> None:
    _, whole = called(WORLD, "state_get")
    there = {"id": WORLD.id, **whole["data"]["snapshot"]}
    assert there == WORLD.contents()
    _, part = called(WORLD, "state_get", select=["/draft/list/1", "/draft/none"])
    assert part["data"] == {"snapshot": {"/draft/list/1": 2, "/draft/none": None}}


def test_pointers_are_understood_however_a_model_writes_them() -> None:
    _, result = called(WORLD, "state_get", select=[" `/draft/list` ", "#/draft/list", "draft/list", "'", ""])
    assert result["data"] == {"snapshot": {"/draft/list": [1, 2]}}


@pytest.mark.parametrize("given", [None, "", "  ", "workspace_id", WORLD.id, f" {WORLD.id} "])
@pytest.mark.parametrize("name", ["state_get", "state_patch"])
def test_the_current_workspace_is_meant_in_many_ways(name: str, given: Json) -> None:
    assert called(WORLD, name, workspace_id=given, ops=BAR)[1]["ok"]


PATCHES: list[Json] = [
    *(None, [], "set", {"op": "set"}, ["set"]),
    [{"op": "set", "path": "/draft/other", "value": 1}],
    [{"op": "delete", "path": "/draft/foo"}],
    [{"op": "set", "path": "/draft/foo/deep", "value": 1}],
]


@pytest.mark.parametrize(
    ("name", "arguments", "refusal"),
    [
        *(("state_get", {"select": each}, "ARGUMENT_ERROR") for each in ("/draft", {"a": 1}, [1], 7)),
        *(("state_patch", {"ops": each}, "ARGUMENT_ERROR") for each in PATCHES),
        ("state_get", {"workspace_id": "another"}, "WORKSPACE_NOT_FOUND"),
        ("state_patch", {"workspace_id": 7, "ops": BAR}, "WORKSPACE_NOT_FOUND"),
        ("facts_commit", {}, "TOOL_NOT_IMPLEMENTED"),
    ],
)
def test_any_other_call_is_refused_and_changes_nothing(
    name: str, arguments: dict[str, Json], refusal: str
) -> None:
    after, result = called(WORLD, name, **arguments)
    assert (result["ok"], result["errors"][0]["code"]) == (False, refusal)
    assert after.contents() == WORLD.contents()
