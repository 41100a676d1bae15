"""Cases taken apart into lines, tools, properties and descriptions, and made smaller."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._conversation.content.part import Blob, Image, Text
from toolreel_core._conversation.message import AssistantMessage, SystemMessage, UserMessage
from toolreel_core._conversation.message_input import user_message
from toolreel_core._jsontext.canonical import parse
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition
from toolreel_core.evals._causes.conversation_parts import (
    askable,
    parts_of,
    smaller_scenario,
    without,
)
from toolreel_core.evals._scenarios.catalogue import SCENARIOS, scenario
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._worlds.facts_and_draft import Workspace

PICTURE = user_message((Text("see"), Image(Blob("image/png", "AAAA"))))

TOOL = ToolDefinition.of(
    "pay",
    "Pays somebody.",
    {
        "type": "object",
        "properties": {"to": {"type": "string", "description": "Who."}, "note": {"type": "string"}},
        "required": ["to", "note"],
    },
)
CASE = Case(
    (SystemMessage("one\ntwo"), UserMessage("three"), AssistantMessage("yes\nno")),
    ToolSurface((TOOL, ToolDefinition.of("look"))),
    Workspace.of("seed"),
)
NAMES = [part.name for part in parts_of(CASE)]


def parameters(case: Case) -> Any:  # noqa: ANN401 - JSON that tests look into
    return parse(case.tools.definitions[0].parameters)


def test_the_parts_of_a_case_are_named_by_their_places() -> None:
    assert [(part.name, part.text, part.inside) for part in parts_of(CASE)] == [
        ("message 1 line 1", "one", ""),
        ("message 1 line 2", "two", ""),
        ("message 2 line 1", "three", ""),
        ("tool pay", "Pays somebody.", ""),
        ("tool pay description", "Pays somebody.", "tool pay"),
        ("tool pay property to", '{"type":"string","description":"Who."}', "tool pay"),
        ("tool pay property to description", "Who.", "tool pay property to"),
        ("tool pay property note", '{"type":"string"}', "tool pay"),
        ("tool look", "", ""),
    ]


def test_each_kind_of_part_can_be_left_out() -> None:
    assert without(CASE, ["message 1 line 1"]).messages[0] == SystemMessage("two")
    assert without(CASE, ["message 1 line 1", "message 1 line 2"]).messages == CASE.messages[1:]
    assert without(CASE, ["tool pay"]).tools.names == ("look",)
    assert without(CASE, ["tool pay description"]).tools.definitions[0].description == ""
    smaller = parameters(without(CASE, ["tool pay property note"]))
    assert (list(smaller["properties"]), smaller["required"]) == (["to"], ["to"])
    described = parameters(without(CASE, ["tool pay property to description"]))
    assert described["properties"]["to"] == {"type": "string"}
    assert described["required"] == ["to", "note"]


def test_without_a_user_nobody_can_be_asked() -> None:
    assert askable(CASE)
    assert not askable(without(CASE, ["message 2 line 1"]))


def test_the_models_own_words_and_messages_with_pictures_stay_whole() -> None:
    lines = [name for name in NAMES if name.startswith("message 3")]
    assert lines == []
    assert without(CASE, NAMES).messages == (CASE.messages[2],)
    shown = Case((PICTURE,), ToolSurface(), CASE.world)
    assert parts_of(shown) == ()
    assert without(shown, ["message 1 line 1"]) == shown


@given(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_leaving_out_is_the_same_at_once_and_again(some: set[str], more: set[str]) -> None:
    once = without(CASE, some | more)
    left = {part.name for part in parts_of(once)}
    assert without(once, ()) == once
    assert not {name for name in left if name in some | more and name.startswith("tool")}


def test_every_scenario_of_the_catalogue_can_be_made_smaller() -> None:
    for one in SCENARIOS:
        case = one.begin("seed")
        assert without(case, ()) == case
        for part in parts_of(case)[:4]:
            assert without(case, [part.name]) != case, (one.name, part.name)


def test_a_schema_without_required_properties_needs_none() -> None:
    tool = ToolDefinition.of("look", "", {"type": "object", "properties": {"a": {"type": "string"}}})
    case = Case(CASE.messages, ToolSurface((tool,)), CASE.world)
    assert parameters(without(case, ["tool look property a"])) == {"type": "object", "properties": {}}


def test_a_scenario_is_smaller_in_every_trial() -> None:
    whole = scenario("happy_path")
    smaller = smaller_scenario(whole, ["message 1 line 1", "tool state_patch"])
    for seed in ("a", "b"):
        assert smaller.begin(seed).tools.names == tuple(
            name for name in whole.begin(seed).tools.names if name != "state_patch"
        )
    assert smaller_scenario(whole, ()) is whole


def test_long_texts_are_shown_shortened() -> None:
    case = Case((UserMessage("word " * 60),), ToolSurface(), CASE.world)
    [part] = parts_of(case)
    assert len(part.text) == 101
    assert part.text.endswith("…")
