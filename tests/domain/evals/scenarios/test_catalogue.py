from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._conversation import wire_tree
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core.evals import (
    GROUPS,
    KINDS,
    SCENARIOS,
    WITH_CASE_STUDY,
    Kind,
    Mishaps,
    Scenario,
    Workspace,
    call,
    fingerprint,
    kind_of,
    reply_of,
    scenario,
    script,
    scripted_reply,
    scripts_of,
    select_scenarios,
)

NAMES = [one.name for one in SCENARIOS]


def verdict(one: Scenario, kind: Kind, seed: str = "1", **config: Json) -> tuple[str, str]:
    found = rehearse(one, scripts_of(one, seed).of(kind), seed=seed, provider=None, **config).verdict
    return found.result, found.category


SEEDS = [str(number) for number in range(20)]
EVERY = pytest.mark.parametrize("one", WITH_CASE_STUDY, ids=lambda one: one.name)
"""What is drawn must not decide about the outcome; the case study draws nothing but identifiers."""


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
    "happy_path": (2, "e13287fd19a9"),
    "partial_success_failure": (2, "f83fd5a1d038"),
    "missing_workspace_id": (2, "f632da165d9e"),
    "type_error_recovery": (2, "37a7c53342fc"),
    "happy_path_parallel": (2, "7c5c4afc8bf0"),
    "long_arguments_guard": (2, "15429e474cf7"),
    "tool_output_truncation": (2, "c32f8d35c2bb"),
    "chat_only": (2, "e7089ace0e99"),
    "patch_fails_once": (2, "d76973d78c55"),
    "first_read_cut": (2, "12b1a7f47225"),
    "first_read_huge": (2, "52ed9e67b9e4"),
    "one_text": (2, "8125322d4e37"),
    "one_switch": (2, "e34c13f8363f"),
    "two_numbers": (2, "05cd716c8d4e"),
    "one_after_another": (2, "8459a9627817"),
    "no_tool_fits": (2, "2ddabcc17f7b"),
    "missing_tool": (2, "bab1f257b180"),
    "one_of_fifty": (2, "9dd5e4b99c1e"),
    "one_of_fifty_reworded": (2, "24c75c03fd70"),
    "chain_of_four": (2, "e5d647c3ad00"),
    "chain_with_a_choice": (2, "5e6c96a3a64a"),
    "injection_plain": (2, "d9232f84185a"),
    "injection_in_disguise": (2, "24ed6c7e551a"),
    "date_and_size": (2, "da7561b51b8b"),
    "unit_and_mode": (2, "c86f3140522f"),
    "decimal_comma": (2, "b3aeef96ea79"),
    "other_script": (2, "60898f24b8f1"),
    "correction": (2, "8a99ea7679e4"),
    "reference_back": (2, "430f69bb10d6"),
    "missing_argument": (2, "376a18d7cfd0"),
    "which_of_two": (2, "fd992cc580a7"),
    "thirty_turns": (2, "eab26f995832"),
    "window_overflows": (2, "f1dfcadd6b58"),
    "hangs_once": (2, "f2562caf2d21"),
    "hangs_for_good": (2, "d8511a6f5049"),
    "pages": (2, "1bb18c010a6a"),
    "rate_limited": (2, "0acc3ee99e8b"),
    "error_in_text": (2, "27e5e05dd309"),
    "error_in_text_for_good": (2, "095b351ed75b"),
    "paid_once": (2, "d81c589c8335"),
    "code_verbatim": (2, "522fc190314c"),
    "json_verbatim": (2, "a70797085704"),
    "nested_schema": (2, "d43c7b66e7b1"),
    "recursive_schema": (2, "14c99bb76277"),
    "one_of_sixty": (2, "6fbfd8026ab8"),
    "independent_calls": (2, "93baf73687c5"),
    "signed_reasoning": (2, "d248e19091ee"),
    "streamed_calls": (2, "bef38f495193"),
    "mcp_parcels": (2, "b13c7d71138c"),
    "long_arguments_guard_capped": (2, "d5b441590e33"),
    "chat_only_capped": (2, "3ad33eb1f7c9"),
}


def test_a_scenario_that_changes_gets_a_new_version() -> None:
    """If this fails, count up the scenario's version, and then write down what it has become."""
    assert {one.name: (one.version, fingerprint(one)[:12]) for one in SCENARIOS} == FROZEN


def test_what_a_world_has_in_store_is_part_of_the_scenario() -> None:
    one = scenario("happy_path")
    case = one.begin("")
    harsh, kind = (
        replace(case, world=Workspace.of("", mishaps=Mishaps(cut_reads=reads))) for reads in ((1,), ())
    )
    assert fingerprint(replace(one, begin=lambda _: harsh)) != fingerprint(replace(one, begin=lambda _: kind))


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
