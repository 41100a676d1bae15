from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._config_checks import PlaceError, Table
from toolreel_core._conversation import SystemMessage
from toolreel_core._jsontext import Json, parse, value_at_json_pointer
from toolreel_core.evals import TableWorld, call, draw_values, parameters_schema, scenario_of, script

TREE = tomllib.loads(Path(__file__).with_name("reserve_lamps.toml").read_text("utf-8"))


def changed(**changes: object) -> dict[str, Any]:
    return {key: value for key, value in {**TREE, **changes}.items() if value is not None}


def test_a_case_has_the_values_of_its_trial() -> None:
    one = scenario_of(TREE)
    first, other = one.begin("1"), one.begin("2")
    assert first.messages != other.messages
    sku = first.messages[0].content.removeprefix("You sell ").rstrip(".")
    assert first.messages[0] == SystemMessage(f"You sell {sku}.")
    assert sku in first.messages[1].content
    assert first.follow_ups[0].startswith("Reserve ")
    assert one.changes.changes()["config"] == {"tool_use_mode": "relaxed"}
    assert not scenario_of(changed(system=None)).begin("1").messages[0].content.startswith("You")


def test_all_that_the_file_says_makes_its_version() -> None:
    version = scenario_of(TREE).version
    assert scenario_of(dict(reversed(TREE.items()))).version == version, "the order of keys is nothing"
    assert scenario_of(changed(about="Other.")).version != version
    assert scenario_of(parse(scenario_of(TREE).tree)) == scenario_of(TREE)


def test_scripts_are_optional_and_a_line_may_be_a_number() -> None:
    assert scenario_of(changed(script=None)).begin("1").scripts is None
    one = scenario_of(changed(script={"good": ["{stock}", "I call it."], "bad": ["{sku}"]}))
    scripts = one.begin("1").scripts
    assert scripts is not None
    assert str(scripts.good.lines[0]).isdigit()
    assert scripts.good.lines[1] == "I call it."


def test_a_text_that_is_one_placeholder_is_a_text() -> None:
    one = scenario_of(changed(system="{stock}", user="{wanted}", check=[{"called": "reserve"}]))
    assert all(message.content.isdigit() for message in one.begin("1").messages)


TOOL = TREE["tool"][0]


def test_a_real_tool_is_outside_of_the_world_which_notes_its_effects() -> None:
    real = {"name": "pay", "arguments": {"sum": "number"}, "real": True, "effect": True}
    case = scenario_of(changed(tool=[*TREE["tool"], real])).begin("1")
    assert case.outside == ("pay",)
    world = case.world
    assert isinstance(world, TableWorld)
    assert (
        value_at_json_pointer(world.told("pay", {"sum": 1}, "3").contents(), "/orders/0/arguments/sum") == 1
    )
    assert world.told("pay", {"sum": 1}, '{"ok":false}') == world
    assert world.told("look", {}, "{}") == world


def test_a_history_stands_before_the_first_text_and_scripts_begin_after_it() -> None:
    one = scenario_of(
        changed(history=["Hello, {sku}.", "Hello."], config={"max_turns": 4, "tool_use_mode": "plan"})
    )
    case = one.begin("1")
    assert [message.content for message in case.messages[1:3]] == [
        f"Hello, {draw_values(TREE['draw'], '1')['sku']}.",
        "Hello.",
    ]
    assert case.scripts is not None
    assert rehearse(one, case.scripts.good, tool_use_mode="enforced").verdict.result == "pass"
    assert one.changes.changes()["config"] == {"max_turns": 4}


def test_a_row_may_do_what_it_does_not_say() -> None:
    failing = {**TREE["tool"][1], "answers": [{"error": {"code": "TIMEOUT"}, "done": True}]}
    one = scenario_of(changed(tool=[TREE["tool"][0], failing], check=[{"called": "stock_of"}]))
    world, output = one.begin("1").world.call("reserve", {"pieces": 1})
    assert '"code":"TIMEOUT"' in output
    assert value_at_json_pointer(world.contents(), "/orders/0/tool") == "reserve"


def test_the_workspace_brings_its_own_tools() -> None:
    tree = {
        "name": "patch",
        "user": "Go.",
        "workspace": {"path": "/draft/name", "draft": {"name": "old"}, "mishap": "cut_read"},
        "check": [{"world": {"/draft/name": "new"}}],
    }
    one = scenario_of(tree)
    ops: Json = [{"op": "set", "path": "/draft/name", "value": "new"}]
    patch = call("state_patch", request_id="r", ops=ops)
    assert rehearse(one, script(patch, "Done.")).verdict.result == "pass"
    with pytest.raises(PlaceError, match=r"workspace: expected a workspace: "):
        scenario_of({**tree, "workspace": {"mishap": "cut"}})


def test_short_forms_are_schemas() -> None:
    found = parameters_schema(
        Table.of(
            {
                "city": "string: The city: its name.",
                "days": "integer?",
                "tags": "string[]?: Words.",
                "unit": ["C", "F"],
                "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
            }
        )
    )
    assert found["properties"] == {
        "city": {"type": "string", "description": "The city: its name."},
        "days": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Words."},
        "unit": {"enum": ["C", "F"]},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
    }
    assert found["required"] == ["city", "unit", "place"]
    assert found["additionalProperties"] is False
