from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._conversation.message import wire_tree
from toolreel_core._errors import ConfigError
from toolreel_core.evals._scenarios.catalogue import (
    CATALOGUE,
    GROUPS,
    KINDS,
    SCENARIOS,
    fingerprint,
    kind_of,
    reply_of,
    scenario,
    scripts_of,
    select_scenarios,
)
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripted_model import Kind, call, script, scripted_reply
from toolreel_core.evals._scenarios.version_1.workspace_scenarios import opening
from toolreel_core.evals._worlds.facts_and_draft import Mishaps

NAMES = [one.name for one in SCENARIOS]


def verdict(one: Scenario, kind: Kind, **config: str) -> tuple[str, str]:
    found = rehearse(one, scripts_of(one, "1").of(kind), **config).verdict
    return found.result, found.category


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_a_good_model_passes(one: Scenario) -> None:
    assert verdict(one, "good") == ("pass", "")


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_a_bad_model_fails(one: Scenario) -> None:
    result, category = verdict(one, "bad")
    assert result == "fail"
    assert category.startswith(("task.outcome:", "loop."))


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_a_model_that_skips_the_hard_part_has_not_shown_it(one: Scenario) -> None:
    exercised = [check for check in one.begin("1").checks if check.layer == "exercise"]
    if scripts_of(one, "1").skipping is None:
        # What every right answer meets cannot be skipped.
        assert not exercised or one.name == "patch_fails_once"
        return
    result, category = verdict(one, "skipping")
    assert result == "pass_unexercised"
    assert category.removeprefix("task.exercise:") in {check.name for check in exercised}


@pytest.mark.parametrize("kind", ["good", "skipping", "bad"])
@pytest.mark.parametrize("one", [one for one in SCENARIOS if not one.control], ids=lambda one: one.name)
def test_without_tools_a_scenario_of_tools_says_nothing(one: Scenario, kind: Kind) -> None:
    assert verdict(one, kind, tool_use_mode="disabled") == ("unsupported", "loop.tools_off")


@pytest.mark.parametrize("name", [one.name for one in SCENARIOS if one.pack in {"reference", "faults"}])
def test_the_hidden_tool_is_never_sent_and_refused_when_it_is_called(name: str) -> None:
    commit = call(
        "facts_commit", workspace_id="$workspace", request_id="r", proposal_id="p", user_confirmed=True
    )
    found = rehearse(scenario(name), script(commit, "Done."))
    sent = [tool["function"]["name"] for body in found.bodies for tool in body.get("tools", ())]
    assert "facts_commit" not in sent
    first = found.bodies[0]
    assert "facts_commit" not in str(first)
    codes = [code for call in found.evidence.calls for code in call.codes]
    assert codes == ([] if name == "chat_only" else ["TOOL_NOT_ALLOWED"])


def test_the_reference_comes_first_in_its_own_order() -> None:
    assert NAMES[:8] == [
        *("happy_path", "partial_success_failure", "missing_workspace_id", "type_error_recovery"),
        *("happy_path_parallel", "long_arguments_guard", "tool_output_truncation", "chat_only"),
    ]
    assert len(set(NAMES)) == len(NAMES)


def test_groups_are_the_references_and_one_a_pack() -> None:
    five = (
        *("happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard", "chat_only"),
    )
    eight = tuple(NAMES[:8])
    assert GROUPS["default"] == GROUPS["smoke"] == GROUPS["typical"] == five
    assert GROUPS["simple"] == ("happy_path", "chat_only")
    assert GROUPS["extreme"] == tuple(name for name in eight if name != "happy_path_parallel")
    assert GROUPS["all"] == GROUPS["full"] == GROUPS["*"] == GROUPS["reference"] == eight
    assert GROUPS["restraint"] == ("no_tool_fits", "missing_tool")
    assert set(GROUPS["everything"]) == {*eight, *GROUPS["packs"], *GROUPS["capped"]}


def chosen(*words: str) -> list[str]:
    return [one.name for one in select_scenarios(words)]


def test_scenarios_are_chosen_by_group_and_name_in_catalogue_order() -> None:
    assert chosen() == list(GROUPS["default"])
    assert chosen("happy_path_parallel", "simple") == ["happy_path", "happy_path_parallel", "chat_only"]
    assert chosen(" ALL ", "") == NAMES[:8]
    assert chosen("all", "!simple") == [name for name in NAMES[:8] if name not in GROUPS["simple"]]
    assert chosen("!chat_only") == NAMES[:7]


def test_a_word_that_means_nothing_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"scenarios: .*'hapy_path'; did you mean 'happy_path'\?"):
        select_scenarios(["default", "hapy_path"])
    with pytest.raises(ConfigError, match="leaves none"):
        select_scenarios(["simple", "!all"])
    with pytest.raises(
        ConfigError, match=re.escape("there is no scenario 'chat'; did you mean 'chat_only'?")
    ):
        scenario("chat")


FROZEN = {
    "happy_path": (1, "194b7577e457"),
    "partial_success_failure": (1, "b91b5941677b"),
    "missing_workspace_id": (1, "d5e3209b96a7"),
    "type_error_recovery": (1, "23e681e35f48"),
    "happy_path_parallel": (1, "4e56bbec9d2f"),
    "long_arguments_guard": (1, "e6a70438cd18"),
    "tool_output_truncation": (1, "0f61390dfea6"),
    "chat_only": (1, "1ae11ad761cd"),
    "patch_fails_once": (1, "368d801cb4b5"),
    "first_read_cut": (1, "5bc7c694406d"),
    "first_read_huge": (1, "b47c746211a8"),
    "one_text": (1, "e667432d0035"),
    "one_switch": (1, "70aa9e4e54d2"),
    "two_numbers": (1, "a5663d18ac4f"),
    "one_after_another": (1, "e76e6c2b3faf"),
    "no_tool_fits": (1, "86e77dbdf6d0"),
    "missing_tool": (1, "d21f610cef15"),
    "one_of_fifty": (1, "ddb54bc1a6da"),
    "one_of_fifty_reworded": (1, "139ef8107c5c"),
    "chain_of_four": (1, "a352719757c5"),
    "chain_with_a_choice": (1, "371cf594672b"),
    "injection_plain": (1, "d408e404d712"),
    "injection_in_disguise": (1, "72b2be8083b6"),
    "date_and_size": (1, "dfe248424041"),
    "unit_and_mode": (1, "ea7576f9a6d7"),
    "decimal_comma": (1, "6826c91cadaa"),
    "other_script": (1, "487c4e760ff7"),
    "long_arguments_guard_capped": (1, "27d8e677df51"),
    "chat_only_capped": (1, "01e24cff620a"),
}


def test_a_scenario_that_changes_gets_a_new_version() -> None:
    """If this fails, count up the scenario's version, and then write down what it has become."""
    assert {one.name: (one.version, fingerprint(one)[:12]) for one in SCENARIOS} == FROZEN


def test_what_a_world_has_in_store_is_part_of_the_scenario() -> None:
    harsh, kind = (opening("", mishaps=Mishaps(cut_reads=reads)) for reads in ((1,), ()))
    one = scenario("happy_path")
    assert fingerprint(replace(one, begin=harsh)) != fingerprint(replace(one, begin=kind))


def test_the_catalogue_has_a_name_of_its_own() -> None:
    assert re.fullmatch("[0-9a-f]{64}", CATALOGUE)


def test_a_models_name_says_whether_it_is_a_script() -> None:
    assert [kind_of(f"scripted:{kind}") for kind in KINDS] == ["good", "skipping", "bad"]
    assert kind_of("good") is None
    with pytest.raises(ConfigError, match=r"model 'scripted:god': .* did you mean 'good'\?"):
        kind_of("scripted:god")


def test_a_reply_is_the_scripts_own() -> None:
    one = scenario("happy_path")
    scripts = scripts_of(one, "1")
    asked = [wire_tree(message) for message in one.begin("1").messages]
    assert reply_of("good", scripts, asked) == scripted_reply(scripts.good, asked, model="scripted:good")
    assert rehearse(one, scripts.good).verdict.result == "pass"


def test_a_scenario_without_scripts_needs_a_model() -> None:
    one = scenario("happy_path")
    bare = replace(one, begin=lambda seed: replace(one.begin(seed), scripts=None))
    with pytest.raises(ConfigError, match="'happy_path' has no scripts"):
        scripts_of(bare, "1")
