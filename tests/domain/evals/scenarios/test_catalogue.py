from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._conversation.message import wire_tree
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._scenarios.catalogue import (
    EVERY_VERSION,
    GROUPS,
    KINDS,
    SCENARIOS,
    catalogue_digest,
    fingerprint,
    kind_of,
    reply_of,
    scenario,
    scripts_of,
    select_scenarios,
)
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripted_model import Kind, call, script, scripted_reply
from toolreel_core.evals._scenarios.version_1.all_scenarios import VERSION_1
from toolreel_core.evals._scenarios.version_1.workspace_scenarios import opening
from toolreel_core.evals._worlds.facts_and_draft import Mishaps

NAMES = [one.name for one in SCENARIOS]


def verdict(one: Scenario, kind: Kind, seed: str = "1", **config: Json) -> tuple[str, str]:
    found = rehearse(one, scripts_of(one, seed).of(kind), seed=seed, provider=None, **config).verdict
    return found.result, found.category


SEEDS = [str(number) for number in range(20)]
EVERY = pytest.mark.parametrize("one", EVERY_VERSION, ids=lambda one: f"{one.name}-{one.version}")
"""What is drawn must not decide about the outcome; version 1 draws nothing but identifiers."""


def seeds_of(one: Scenario) -> list[str]:
    return SEEDS if one.version > 1 else SEEDS[:1]


@EVERY
def test_a_good_model_passes_whatever_is_drawn(one: Scenario) -> None:
    assert {verdict(one, "good", seed) for seed in seeds_of(one)} == {("pass", "")}


@EVERY
def test_a_bad_model_fails_whatever_is_drawn(one: Scenario) -> None:
    found = {verdict(one, "bad", seed) for seed in seeds_of(one)}
    assert {result for result, _ in found} == {"fail"}
    assert all(category.startswith(("task.outcome:", "loop.")) for _, category in found)


@EVERY
def test_a_model_that_skips_the_hard_part_has_not_shown_it(one: Scenario) -> None:
    exercised = {check.name for check in one.begin("1").checks if check.layer == "exercise"}
    if scripts_of(one, "1").skipping is None:
        # What every right answer meets cannot be skipped.
        met = {"patch_fails_once", "hangs_once", "rate_limited", "paid_once", "streamed_calls"}
        assert not exercised or one.name in met
        return
    for result, category in (verdict(one, "skipping", seed) for seed in seeds_of(one)):
        assert result == "pass_unexercised"
        assert category.removeprefix("task.exercise:") in exercised


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_no_two_trials_are_alike(one: Scenario) -> None:
    """A good script of one trial, word by word, is no good in another."""
    cases = [one.begin(seed) for seed in SEEDS]
    said = {str(case.messages) + str(case.follow_ups) + repr(case.world) for case in cases}
    assert len(said) > 10
    assert one.begin("1").checks == cases[1].checks
    assert {tuple(check.name for check in case.checks) for case in cases} == {
        tuple(check.name for check in cases[0].checks)
    }


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


FROZEN_2 = {
    "happy_path": (2, "10c6fc0ee531"),
    "partial_success_failure": (2, "a0e92a701239"),
    "missing_workspace_id": (2, "8f19da67dbdf"),
    "type_error_recovery": (2, "3b57c348c5fc"),
    "happy_path_parallel": (2, "c12db9e1b684"),
    "long_arguments_guard": (2, "eac01de3b19f"),
    "tool_output_truncation": (2, "b9dc56339b54"),
    "chat_only": (2, "7d40894da7e2"),
    "patch_fails_once": (2, "b21ba460f726"),
    "first_read_cut": (2, "9ff1064ff3e4"),
    "first_read_huge": (2, "3174c6c86250"),
    "one_text": (2, "32ebd21f068f"),
    "one_switch": (2, "de82aeee9344"),
    "two_numbers": (2, "3891ba46d1bf"),
    "one_after_another": (2, "516217fe87e4"),
    "no_tool_fits": (2, "a981b71e48bf"),
    "missing_tool": (2, "7fb8ae42ada0"),
    "one_of_fifty": (2, "f4ecddd08ad7"),
    "one_of_fifty_reworded": (2, "41fd67dd2984"),
    "chain_of_four": (2, "423f1951a171"),
    "chain_with_a_choice": (2, "1edb298a78ef"),
    "injection_plain": (2, "e329e1188bfb"),
    "injection_in_disguise": (2, "6ab7380b1968"),
    "date_and_size": (2, "37311b7d1ec1"),
    "unit_and_mode": (2, "f2b9b7bc6452"),
    "decimal_comma": (2, "ffd0e2e4f264"),
    "other_script": (2, "67883c095430"),
    "correction": (2, "3cae38b27e03"),
    "reference_back": (2, "f5b5749eecad"),
    "missing_argument": (2, "27b6998d8986"),
    "which_of_two": (2, "759e71257f9d"),
    "thirty_turns": (2, "8b07d33321b3"),
    "window_overflows": (2, "7cf7954d5fc1"),
    "hangs_once": (2, "14001d7e7ae0"),
    "hangs_for_good": (2, "a892fe1af69b"),
    "pages": (2, "5f0a9156ec33"),
    "rate_limited": (2, "932f41a17130"),
    "error_in_text": (2, "10ae5d46a8de"),
    "error_in_text_for_good": (2, "e0d849ecf442"),
    "paid_once": (2, "9ee735c6f04c"),
    "code_verbatim": (2, "d93961163d1e"),
    "json_verbatim": (2, "d2a888a6141d"),
    "nested_schema": (2, "052a1837c9b9"),
    "recursive_schema": (2, "4ac002167ac1"),
    "one_of_sixty": (2, "86741e33871d"),
    "independent_calls": (2, "329a46698a00"),
    "signed_reasoning": (2, "90cab8459f02"),
    "streamed_calls": (2, "fd74b80e4a83"),
    "mcp_parcels": (2, "5a551c182a77"),
    "long_arguments_guard_capped": (2, "b90d1c689b2f"),
    "chat_only_capped": (2, "90ce45bdc8c7"),
}


@pytest.mark.parametrize(("scenarios", "frozen"), [(VERSION_1, FROZEN), (SCENARIOS, FROZEN_2)])
def test_a_scenario_that_changes_gets_a_new_version(
    scenarios: tuple[Scenario, ...], frozen: Mapping[str, tuple[int, str]]
) -> None:
    """If this fails, count up the scenario's version, and then write down what it has become."""
    assert {one.name: (one.version, fingerprint(one)[:12]) for one in scenarios} == frozen


def test_a_stored_run_finds_the_scenario_of_its_version() -> None:
    assert scenario("happy_path").version == 2
    assert scenario("happy_path", 1) == next(one for one in VERSION_1 if one.name == "happy_path")
    assert scenario("happy_path", 9) == scenario("happy_path")


def test_what_a_world_has_in_store_is_part_of_the_scenario() -> None:
    harsh, kind = (opening("", mishaps=Mishaps(cut_reads=reads)) for reads in ((1,), ()))
    one = scenario("happy_path")
    assert fingerprint(replace(one, begin=harsh)) != fingerprint(replace(one, begin=kind))


def test_the_catalogue_has_a_name_of_its_own() -> None:
    assert re.fullmatch("[0-9a-f]{64}", catalogue_digest())


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
