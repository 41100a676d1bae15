"""The scenarios of the case study, as it ran them."""

from __future__ import annotations

import re

from tests.domain.evals.rehearsing import rehearse
from toolreel_core.evals import (
    CASE_STUDY,
    CASE_STUDY_VERSION,
    GROUPS,
    SCENARIOS,
    fingerprint,
    scenario,
    select_scenarios,
)


def test_what_is_known_of_the_study_is_taken_over() -> None:
    names = ("happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard", "chat_only")
    assert GROUPS["case-study"] == tuple(f"study_{name}" for name in names)
    assert [one.control for one in CASE_STUDY] == [False] * 4 + [True]
    *tools, control = CASE_STUDY
    for one in tools:
        _, user = one.begin("7").messages
        assert re.fullmatch(r"workspace_id=[\w-]+", user.content)
        assert [check.name for check in one.begin("7").checks] == ["final", "draft"]
    assert control.changes.changes()["request_overrides"] == {"max_tokens": 32}
    guard = scenario("study_long_arguments_guard").changes.changes()
    assert (guard["config"], guard["request_overrides"]) == (
        {"max_tool_args_bytes": 300},
        {"max_tokens": 256},
    )


def test_the_hard_part_may_be_skipped_as_it_could_in_the_study() -> None:
    guard = scenario("study_long_arguments_guard")
    skipping = scenario("study_happy_path").begin("1").scripts
    assert skipping is not None
    assert rehearse(guard, skipping.good).verdict.result == "pass"


def test_they_are_versioned_apart_and_chosen_by_name_alone() -> None:
    """If this fails, what models read in these scenarios has changed: raise VERSION, and note both."""
    assert CASE_STUDY_VERSION == 1
    seen = [fingerprint(one)[:12] for one in CASE_STUDY]
    assert seen == ["e48d09ff6cb1", "7f55856a93f2", "9c5d0c73692c", "ecc5b927f10e", "010b193102eb"]
    assert not {one.name for one in CASE_STUDY} & {one.name for one in SCENARIOS}
    assert not {*GROUPS["case-study"]} & ({*GROUPS["everything"]} | {*GROUPS["packs"]})
    assert select_scenarios(["case-study"]) == CASE_STUDY
