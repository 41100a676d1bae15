from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel.evals import built_in_scenario, built_in_scenarios, scenario_groups, select_scenarios
from toolreel_core._conversation import wire_text
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical, chained_digest
from toolreel_core.evals import Scenario, ScriptKind, call, script

EVERYTHING = (*built_in_scenarios(), *select_scenarios(["case-study"]))
NAMES = [one.name for one in built_in_scenarios()]
FROZEN = Path(__file__).with_name("versions.json")


def verdict(one: Scenario, kind: ScriptKind, seed: str = "1", **config: Json) -> tuple[str, str]:
    found = rehearse(one, one.scripts(seed).of(kind), seed=seed, provider=None, **config).verdict
    return found.result, found.category


SEEDS = [str(number) for number in range(12)]
EVERY = pytest.mark.parametrize("one", EVERYTHING, ids=lambda one: one.name)
"""What is drawn must not decide about the outcome; the case study draws nothing but identifiers."""


def seeds_of(one: Scenario) -> list[str]:
    return SEEDS if one.version > 1 else SEEDS[:1]


@EVERY
def test_a_good_model_passes_whatever_is_drawn(one: Scenario) -> None:
    assert {verdict(one, "good", seed) for seed in seeds_of(one)} == {("pass", "")}


@EVERY
def test_a_bad_model_fails_whatever_is_drawn(one: Scenario) -> None:
    found = {verdict(one, "bad", seed) for seed in seeds_of(one)[:5]}
    assert {result for result, _ in found} == {"fail"}
    assert all(category.startswith(("task.outcome:", "loop.")) for _, category in found)


@EVERY
def test_a_model_that_skips_the_hard_part_has_not_shown_it(one: Scenario) -> None:
    exercised = {check.name for check in one.begin("1").checks if check.layer == "exercise"}
    if one.scripts("1").skipping is None:
        # What every right answer meets cannot be skipped.
        met = {"patch_fails_once", "hangs_once", "rate_limited", "paid_once", "streamed_calls"}
        assert not exercised or one.name in met
        return
    for result, category in (verdict(one, "skipping", seed) for seed in seeds_of(one)[:5]):
        assert result == "pass_unexercised"
        assert category.removeprefix("task.exercise:") in exercised


@pytest.mark.parametrize("one", EVERYTHING[: len(NAMES)], ids=lambda one: one.name)
def test_no_two_trials_are_alike(one: Scenario) -> None:
    """A good script of one trial, word by word, is no good in another."""
    cases = [one.begin(seed) for seed in SEEDS]
    said = {str(case.messages) + str(case.follow_ups) + repr(case.world) for case in cases}
    assert len(said) > 6
    assert one.begin("1").checks == cases[1].checks
    assert len({tuple(check.name for check in case.checks) for case in cases}) == 1


@pytest.mark.parametrize(
    "name", [one.name for one in EVERYTHING if one.pack in {"reference", "faults"} and not one.control]
)
def test_the_hidden_tool_is_never_sent_and_refused_when_it_is_called(name: str) -> None:
    commit = call("facts_commit", workspace_id="$workspace", proposal_id="p", user_confirmed=True)
    found = rehearse(built_in_scenario(name), script(commit, "Done."))
    assert not any("facts_commit" in str(body.get("tools")) for body in found.bodies)
    assert "facts_commit" not in str(found.bodies[0])
    codes = [code for call in found.evidence.calls for code in call.codes]
    assert codes == ["TOOL_NOT_ALLOWED"]


def test_the_reference_comes_first_in_its_own_order() -> None:
    assert NAMES[:8] == [
        *("happy_path", "partial_success_failure", "missing_workspace_id", "type_error_recovery"),
        *("happy_path_parallel", "long_arguments_guard", "tool_output_truncation", "chat_only"),
    ]
    assert len(set(NAMES)) == len(NAMES)


FIVE = ("happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard", "chat_only")


def test_groups_are_the_references_and_one_a_pack() -> None:
    eight = tuple(NAMES[:8])
    assert scenario_groups()["default"] == scenario_groups()["smoke"] == scenario_groups()["typical"] == FIVE
    assert scenario_groups()["simple"] == ("happy_path", "chat_only")
    assert scenario_groups()["extreme"] == tuple(name for name in eight if name != "happy_path_parallel")
    assert {scenario_groups()[name] for name in ("all", "full", "*", "reference")} == {eight}
    assert scenario_groups()["restraint"] == ("no_tool_fits", "missing_tool")
    parts = (*eight, *scenario_groups()["packs"], *scenario_groups()["capped"])
    assert {*scenario_groups()["everything"]} == {*parts}


def chosen(*words: str) -> list[str]:
    return [one.name for one in select_scenarios(words)]


def test_scenarios_are_chosen_by_group_and_name_in_catalogue_order() -> None:
    assert chosen() == list(scenario_groups()["default"])
    assert chosen("happy_path_parallel", "simple") == ["happy_path", "happy_path_parallel", "chat_only"]
    assert chosen(" ALL ", "") == NAMES[:8]
    assert chosen("all", "!simple") == [name for name in NAMES[:8] if name not in scenario_groups()["simple"]]
    assert chosen("!chat_only") == NAMES[:7]


def test_the_case_study_is_as_it_was_run_and_versioned_apart() -> None:
    assert scenario_groups()["case-study"] == tuple(f"study_{name}" for name in FIVE)
    assert not {*scenario_groups()["case-study"]} & {*scenario_groups()["everything"]}
    study = select_scenarios(["case-study"])
    assert [(one.version, one.control) for one in study] == [(1, False)] * 4 + [(1, True)]
    for one in study[:-1]:
        _, user = one.begin("7").messages
        assert re.fullmatch(r"workspace_id=[\w-]+", user.content)
        assert [check.name for check in one.begin("7").checks] == ["final", "draft", "answer"]
    assert study[-1].changes.changes()["request_overrides"] == {"max_tokens": 32}
    changes = study[3].changes.changes()
    assert changes["config"] == {"max_tool_args_bytes": 300}
    assert changes["request_overrides"] == {"max_tokens": 256}
    assert rehearse(study[3], study[0].scripts("1").good).verdict.result == "pass", "as in the study"


def test_a_scenario_that_changes_gets_a_new_version() -> None:
    """If this fails, count up the scenario's version in catalogue.toml, and then note its new digest."""
    found = {one.name: (one.version, digest_of(one)) for one in EVERYTHING}
    assert found == {name: tuple(told) for name, told in json.loads(FROZEN.read_text("utf-8")).items()}


def digest_of(one: Scenario) -> str:
    """A digest of what models may notice of two trials."""
    said = list[str]()
    for seed in ("1", "2"):
        case = one.begin(seed)
        world = repr(case.world).partition("(")[2]  # without the name of its class
        said += (*map(wire_text, case.messages), *case.follow_ups, case.tools.fingerprint, world)
    return chained_digest("scenario", canonical(one.changes.changes()), *said)[:12]


def test_a_scenario_without_scripts_needs_a_model() -> None:
    one = built_in_scenario("happy_path")
    bare = replace(one, begin=lambda seed: replace(one.begin(seed), scripts=None))
    with pytest.raises(ConfigError, match="'happy_path' has no scripts"):
        bare.scripts("1")
