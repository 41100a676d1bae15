""""""

from __future__ import annotations

import json

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._scenarios.catalogue import scenario
from toolreel_core.evals._scenarios.reference import CAPPED, LONG_ARGUMENTS_GUARD, REFERENCE
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import Line, call, script
from toolreel_core.evals._worlds.workspace import Workspace

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
    assert guard.checks == LONG_ARGUMENTS_GUARD.checks
    assert guard.changes.config == LONG_ARGUMENTS_GUARD.changes.config
    assert guard.changes.names == (guard.name,)
    assert (guard.pack, guard.groups) == ("capped", ())
