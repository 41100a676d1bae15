from __future__ import annotations

import json

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._conversation.message import SystemMessage, UserMessage
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.outcome import Completed
from toolreel_core.evals._scenarios.catalogue import scenario
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripted_model import Line, call, script
from toolreel_core.evals._scenarios.version_1.workspace_scenarios import (
    CAPPED,
    DONE,
    DRAFT,
    FAULTS,
    LONG_ARGUMENTS_GUARD,
    REFERENCE,
    opening,
    patch,
)
from toolreel_core.evals._worlds.facts_and_draft import WORKSPACE_TOOLS, Mishaps, Workspace


def test_a_scenario_begins_with_its_text_and_a_user_who_names_the_workspace() -> None:
    mishaps = Mishaps(cut_reads=(1,))
    setting = opening("One.", "Two.", draft={"a": 1}, mishaps=mishaps)("seed")
    world = Workspace.of("seed", draft={"a": 1}, mishaps=mishaps)
    assert setting.world == world
    assert setting.messages == (SystemMessage("One.\nTwo."), UserMessage(f"workspace_id={world.id}"))
    assert setting.tools == WORKSPACE_TOOLS


def test_a_patch_sets_one_value() -> None:
    assert patch(7, path="/draft/a", workspace_id="w") == {
        "workspace_id": "w",
        "request_id": "r1",
        "ops": [{"op": "set", "path": "/draft/a", "value": 7}],
    }


def test_the_draft_and_the_word_are_what_has_to_be_there() -> None:
    world = Workspace.of("1")
    after, _ = world.call("state_patch", patch())
    for there, final, found in ((world, "No.", True), (after, "Done.", False)):
        seen = Evidence(Completed(final), final, (), there, None, tools_sent=True)
        assert [bool(check.finding(seen)) for check in (DRAFT, DONE)] == [found, found]


SET: Json = [{"op": "set", "path": "/draft/foo", "value": "bar"}]
READ = call("state_get")
ELSEWHERE = call("state_patch", request_id="r1", ops=[{"op": "set", "path": "/draft/other", "value": 1}])
WRITE = call("state_patch", request_id="r1", ops=SET)


def categories(name: str, *lines: Line) -> tuple[str, str]:
    verdict = rehearse(scenario(name), script(*lines)).verdict
    return verdict.result, verdict.category


@pytest.mark.parametrize("one", REFERENCE, ids=lambda one: one.name)
def test_requests_follow_from_the_seed_alone(one: Scenario) -> None:
    assert one.begin("1") == one.begin("1")
    world = one.begin("1").world
    assert isinstance(world, Workspace)
    assert world != one.begin("2").world
    said = one.begin("1").messages[-1]
    assert (f"workspace_id={world.id}" in str(said)) is not one.control


@pytest.mark.parametrize(
    ("name", "lines", "category"),
    [
        ("partial_success_failure", (READ + ELSEWHERE, WRITE, "Done."), ""),
        ("partial_success_failure", (READ, WRITE, "Done."), "task.outcome:partial"),
        ("partial_success_failure", (READ + READ, WRITE, "Done."), "task.outcome:partial"),
        ("type_error_recovery", (READ, WRITE, "Done."), "task.exercise:patch_failed"),
        ("happy_path", (WRITE, "Done."), "task.exercise:state_get_first"),
    ],
)
def test_the_hard_part_is_looked_for(name: str, lines: tuple[Line, ...], category: str) -> None:
    assert categories(name, *lines)[1] == category


def test_the_word_at_the_end_has_to_be_said() -> None:
    assert categories("happy_path", READ, WRITE, "All set.") == ("fail", "task.outcome:final")
    assert categories("happy_path", READ, WRITE, "`done!`") == ("pass", "")


def test_a_draft_with_more_in_it_is_still_a_draft() -> None:
    assert categories("tool_output_truncation", READ, WRITE, "Done.") == ("pass", "")


def test_a_read_that_fits_leaves_truncation_untried() -> None:
    small = call("state_get", select=["/draft/foo"])
    assert categories("tool_output_truncation", small, WRITE, "Done.") == ("fail", "task.outcome:too_large")


@pytest.mark.parametrize("ops", [{"op": "set"}, "set", 7])
def test_a_patch_of_a_wrong_type_is_what_one_recovers_from(ops: Json) -> None:
    wrong = call("state_patch", request_id="r1", ops=ops)
    assert categories("type_error_recovery", READ, wrong, WRITE, "Done.") == ("pass", "")


@pytest.mark.parametrize("name", ["partial_success_failure", "happy_path_parallel"])
def test_calls_together_are_asked_for_in_the_request(name: str) -> None:
    found = rehearse(scenario(name), script("Done."))
    assert found.bodies[0]["parallel_tool_calls"] is True


def test_caps_are_generous() -> None:
    caps = {one.name: rehearse(one, script("Done.")).bodies[0].get("max_tokens") for one in REFERENCE}
    assert {name: cap for name, cap in caps.items() if cap} == {
        "long_arguments_guard": 1024,
        "chat_only": 1024,
    }


def test_the_control_sends_no_tools() -> None:
    found = rehearse(scenario("chat_only"), script("Done."))
    assert "tools" not in found.bodies[0]
    assert "state_get" not in json.dumps(found.bodies)
    assert found.verdict.result == "pass"


def test_the_references_caps_are_there_to_be_compared_with() -> None:
    caps = {one.name: rehearse(one, script("Done.")).bodies[0]["max_tokens"] for one in CAPPED}
    assert caps == {"long_arguments_guard_capped": 256, "chat_only_capped": 32}


def test_nothing_else_is_different() -> None:
    guard = CAPPED[0]
    assert guard.begin("1") == LONG_ARGUMENTS_GUARD.begin("1")
    assert guard.changes.config == LONG_ARGUMENTS_GUARD.changes.config
    assert guard.changes.names == (guard.name,)
    assert (guard.pack, guard.groups) == ("capped", ())


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("patch_fails_once", "UNAVAILABLE"),
        ("first_read_cut", "TOOL_OUTPUT_NOT_JSON"),
        ("first_read_huge", "TOOL_OUTPUT_TOO_LARGE"),
    ],
)
def test_the_world_fails_a_model_that_does_nothing_wrong(name: str, code: str) -> None:
    one = next(one for one in FAULTS if one.name == name)
    found = rehearse(one, script(READ, WRITE, READ, WRITE, "Done."))
    assert [codes for call in found.evidence.calls if (codes := call.codes)] == [(code,)]
    assert found.verdict.result == "pass"


def test_going_on_without_a_read_is_fine_too() -> None:
    for one in FAULTS[1:]:
        assert rehearse(one, script(READ, WRITE, "Done.")).verdict.result == "pass"
