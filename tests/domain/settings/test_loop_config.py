from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import pytest

from tests.samples import IF_YOUR_OWN, ROOT, complaint
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import VERSION
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import DIALECTS, MARKED

COUNTS: dict[str, int] = {
    "max_turns": 1,
    "max_tool_args_bytes": 1,
    "max_tool_output_bytes": 1,
    "max_tool_parts_bytes": 1,
    "max_argument_depth": 1,
    "nudge_no_tool_calls": 0,
    "output_retries": 0,
    "max_tries": 1,
    "retry_base_ms": 0,
    "retry_cap_ms": 0,
    "final_check": 0,
    "withhold_repeated": 0,
    "reserved_response_tokens": 0,
    "max_tool_definitions_count": 1,
    "max_tool_definitions_bytes": 1,
}
"""Each count that cannot be turned off, with the least that it may be."""
OPTIONAL: dict[str, int] = {
    "max_tool_calls_per_turn": 1,
    "max_total_tokens": 1,
    "max_wall_ms": 1,
    "max_tool_calls": 1,
    "max_conversation_turns": 1,
    "max_conversation_tokens": 1,
    "repetition_warn": 2,
    "repetition_stop": 2,
    "context_window_tokens": 1,
}
SWITCHES = [
    "restate_task",
    "claim_check",
    "require_first_call",
    "dialects_in_reasoning",
    "accept_suspected_calls",
    "fix_empty_final",
    "fix_empty_final_disable_tools",
    "fallback_without_tools",
    "parallel_tools",
    "null_for_optional_is_absent",
]
NAMES = [
    "history_policies",
    "text_dialects",
    "untrusted_tools",
    "message_transforms",
    "tool_transforms",
    "response_transforms",
    "tool_call_transforms",
    "tool_result_transforms",
]
OTHERS = [
    "constrained_calls",
    "repeated_effects",
    "argument_repairs",
    "stream",
    "result_format",
    "output_mode",
    "text_calls_for",
    "tool_use_mode",
    "tool_failure_policy",
    "max_cost",
    "max_conversation_cost",
    "unknown_cost",
    "fix_empty_final_text",
    "estimator",
]
FITTING: dict[str, Mapping[str, Any]] = {
    "retry_cap_ms": {"retry_base_ms": 0},
    "repetition_stop": {"repetition_warn": None},
}
"""What else must be set so that the least value contradicts nothing."""


def test_every_setting_is_tried_here() -> None:
    assert {item.name for item in fields(LoopConfig)} == {*COUNTS, *OPTIONAL, *SWITCHES, *NAMES, *OTHERS}


def test_records_leave_the_defaults_out_so_one_that_changes_takes_a_new_version_of_the_codec() -> None:
    assert VERSION == 1
    defaults = (ROOT / "tests" / "corpora" / "loop-config.json").read_text("utf-8")
    assert json.dumps(asdict(LoopConfig()), indent=1, ensure_ascii=False) == defaults.rstrip()


def test_the_default_dialects_are_read_only_where_tools_are_offered() -> None:
    assert LoopConfig().dialects(offered=True) == MARKED
    assert LoopConfig().dialects(offered=False) == ()
    named = LoopConfig(text_dialects=("hermes_json",))
    assert named.dialects(offered=True) == named.dialects(offered=False) == ("hermes_json",)


def test_changes_leave_all_else_as_it_is() -> None:
    changed = LoopConfig.of({"max_turns": 1, "text_dialects": ["json_fenced", "hermes_json"]})
    assert changed == LoopConfig(max_turns=1, text_dialects=("json_fenced", "hermes_json"))


def test_no_changes_are_the_defaults() -> None:
    assert LoopConfig.of({}) == LoopConfig()
    assert LoopConfig().changes() == {}


def test_the_changes_of_a_configuration_make_it_again() -> None:
    changed = LoopConfig(max_tool_args_bytes=9, text_dialects=("json_fenced",))
    assert changed.changes() == {"max_tool_args_bytes": 9, "text_dialects": ("json_fenced",)}
    assert LoopConfig.of(changed.changes()) == changed


@pytest.mark.parametrize("key", COUNTS)
@pytest.mark.parametrize("value", ["one less", -1, 1.5, "3", True, None])
def test_a_count_is_a_whole_number_and_not_too_small(key: str, value: object) -> None:
    wrong = COUNTS[key] - 1 if value == "one less" else value
    assert complaint(ConfigError, lambda: LoopConfig.of({key: wrong})) == (
        f"{key}: expected a whole number of at least {COUNTS[key]}, got {wrong!r}"
    )


@pytest.mark.parametrize("key", OPTIONAL)
@pytest.mark.parametrize("value", ["one less", -1, 1.5, "3", True])
def test_a_limit_that_can_be_off_says_so_when_it_is_wrong(key: str, value: object) -> None:
    wrong = OPTIONAL[key] - 1 if value == "one less" else value
    assert complaint(ConfigError, lambda: LoopConfig.of({key: wrong})) == (
        f"{key}: expected a whole number of at least {OPTIONAL[key]}, or nothing to turn it off, "
        f"got {wrong!r}"
    )


@pytest.mark.parametrize(("key", "least"), [*COUNTS.items(), *OPTIONAL.items()])
def test_the_least_value_is_allowed(key: str, least: int) -> None:
    assert getattr(LoopConfig.of({**FITTING.get(key, {}), key: least}), key) == least


@pytest.mark.parametrize("key", [*OPTIONAL, "max_cost", "max_conversation_cost"])
def test_a_limit_of_nothing_is_off(key: str) -> None:
    assert getattr(LoopConfig.of({key: None}), key) is None


@pytest.mark.parametrize("key", SWITCHES)
@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_a_switch_is_true_or_false(key: str, value: object) -> None:
    assert complaint(ConfigError, lambda: LoopConfig.of({key: value})) == (
        f"{key}: expected true or false, got {value!r}"
    )


@pytest.mark.parametrize("value", [0, -0.5, "3", True, float("nan"), float("inf"), 10**400])
def test_a_cost_is_a_number_above_nothing(value: object) -> None:
    expected = "a number above 0 and up to 1000000000, or nothing to turn it off"
    for key in ("max_cost", "max_conversation_cost"):
        why = f"{key}: expected {expected}, got {value!r}"
        assert complaint(ConfigError, partial(LoopConfig.of, {key: value})) == why


def test_a_cost_is_kept_as_one_kind_of_number() -> None:
    assert repr(LoopConfig(max_cost=5).max_cost) == repr(LoopConfig(max_cost=5.0).max_cost) == "5.0"
    assert repr(LoopConfig(max_conversation_cost=5).max_conversation_cost) == "5.0"


def test_arguments_may_nest_as_deep_as_can_be_read_back_and_no_deeper() -> None:
    assert LoopConfig(max_argument_depth=128).max_argument_depth == 128
    assert complaint(ConfigError, lambda: LoopConfig(max_argument_depth=129)) == (
        "max_argument_depth: at most 128, got 129"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"tool_use_mode": "strict"},
            "tool_use_mode: expected one of relaxed, enforced, disabled, got 'strict'",
        ),
        ({"tool_use_mode": None}, "tool_use_mode: expected one of relaxed, enforced, disabled, got None"),
        ({"tool_use_mode": []}, "tool_use_mode: expected one of relaxed, enforced, disabled, got []"),
        ({"stream": True}, "stream: expected one of always, final, never, got True"),
        ({"fix_empty_final_text": 3}, "fix_empty_final_text: expected a text, got 3"),
        ({"fix_empty_final_text": " "}, "fix_empty_final_text: expected a sentence, got an empty text"),
        ({"repetition_warn": 5}, "repetition_warn: expected less than repetition_stop (5), got 5"),
        ({"repetition_stop": 3}, "repetition_warn: expected less than repetition_stop (3), got 3"),
        (
            {"context_window_tokens": 100, "reserved_response_tokens": 100},
            "reserved_response_tokens: expected less than context_window_tokens (100), got 100",
        ),
        ({"retry_cap_ms": 999}, "retry_cap_ms: expected at least retry_base_ms (1000), got 999"),
        ({"max_turn": 3}, "there is no setting 'max_turn'; did you mean 'max_turns'?"),
        (
            {"zzz": 3},
            "there is no setting 'zzz'; there are: "
            f"{', '.join([item.name for item in fields(LoopConfig)][:12])}, and "
            f"{len(fields(LoopConfig)) - 12} more",
        ),
        (
            {"text_dialects": ["hermes"]},
            "text_dialects: there is no dialect 'hermes'; did you mean 'hermes_json'?",
        ),
        (
            {"text_dialects": ["zzz"]},
            f"text_dialects: there is no dialect 'zzz'; there are: {', '.join(DIALECTS[:12])}, and 39 more",
        ),
        ({"estimator": None}, "estimator: expected a text, got None"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(
    changes: Mapping[str, Any], why: str
) -> None:
    assert complaint(ConfigError, lambda: LoopConfig.of(changes)) == why


TWO_OF_THEM: dict[str, tuple[str, ...]] = {
    "history_policies": ("shorten_old_tool_results", "keep_newest_turns"),
    "text_dialects": ("json_fenced", "hermes_json"),
    "untrusted_tools": ("web.fetch", "mcp_*"),
    "message_transforms": (
        "assistant_tool_calls_content_null_if_blank",
        "assistant_tool_calls_reasoning_content_empty_if_missing",
    ),
    "tool_transforms": ("schema_strip_strict", "schema_inline_defs"),
    "response_transforms": (
        "assistant_tool_calls_object_to_array",
        "assistant_function_call_to_tool_calls",
    ),
    "tool_call_transforms": ("assistant_tool_calls_arguments_blank_to_empty_object",) * 2,
    "tool_result_transforms": ("tool_result_compact_envelope",) * 2,
}


def test_all_marked_dialects_have_one_name() -> None:
    config = LoopConfig.of({"text_dialects": ["marked", "json_fenced", "hermes_json"]})
    assert config.text_dialects == (*MARKED, "json_fenced")


@pytest.mark.parametrize("key", NAMES)
@pytest.mark.parametrize("value", ["hermes_json", ["hermes_json", 3], None, {"hermes_json"}])
def test_names_come_as_a_list_and_in_their_order(key: str, value: object) -> None:
    assert complaint(ConfigError, lambda: LoopConfig.of({key: value})) == (
        f"{key}: expected a list of names, got {value!r}"
    )
    assert LoopConfig.of({key: list(TWO_OF_THEM[key])}).changes() == {key: TWO_OF_THEM[key]}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"estimator": "byte_per_4"},
            f"estimator: there is no token estimator 'byte_per_4'; did you mean 'bytes_per_4'? {IF_YOUR_OWN}",
        ),
        (
            {"tool_transforms": ["schema_inline"]},
            "tool_transforms: there is no tool transform 'schema_inline'; did you mean 'schema_inline_defs'? "
            f"{IF_YOUR_OWN}: "
            '@register_transform("tool", "schema_inline", about="...")',
        ),
        (
            {"argument_repairs": "sure"},
            "argument_repairs: expected one of strict, safe, lenient, got 'sure'",
        ),
    ],
)
def test_a_name_that_nothing_has_is_told_with_its_setting(changes: Mapping[str, Any], why: str) -> None:
    assert complaint(ConfigError, lambda: LoopConfig.of(changes)) == why


def test_values_that_only_just_agree_are_allowed() -> None:
    LoopConfig(repetition_warn=4, repetition_stop=5)
    LoopConfig(repetition_warn=9, repetition_stop=None)
    LoopConfig(context_window_tokens=100, reserved_response_tokens=99)
    LoopConfig(retry_base_ms=1_000, retry_cap_ms=1_000)


@pytest.mark.parametrize("limit", ["max_cost", "max_conversation_cost"])
def test_a_run_needs_costs_if_they_are_limited_and_an_unknown_one_stops_it(limit: str) -> None:
    stops, goes_on = LoopConfig.of({limit: 1}), LoopConfig.of({limit: 1, "unknown_cost": "allow"})
    assert (stops.needs_costs, goes_on.needs_costs, goes_on.limits_cost) == (True, False, True)


@pytest.mark.parametrize("choice", ["stop", "allow"])
def test_without_a_limited_cost_no_cost_is_needed(choice: str) -> None:
    config = LoopConfig.of({"unknown_cost": choice})
    assert config.changes().get("unknown_cost") == {"stop": None, "allow": "allow"}[choice]
    assert LoopConfig.of(config.changes()) == config
    assert not config.needs_costs


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        (
            {"constrained_calls": "json"},
            "constrained_calls: expected one of off, response_format, structured_outputs, guided_json, "
            "grammar, got 'json'",
        ),
        ({"repeated_effects": "skip"}, "repeated_effects: expected one of run, refuse, got 'skip'"),
    ],
)
def test_a_form_that_nobody_knows_is_refused(settings: dict[str, str], wrong: str) -> None:
    assert complaint(ConfigError, partial(LoopConfig.of, settings)) == wrong


@pytest.mark.parametrize(
    ("settings", "remembers"),
    [
        ({}, False),
        ({"constrained_calls": "grammar"}, False),
        ({"restate_task": True}, True),
        ({"final_check": 1}, True),
        ({"claim_check": True}, True),
        ({"repeated_effects": "refuse"}, True),
    ],
)
def test_calls_are_remembered_where_a_setting_needs_them(settings: dict[str, Any], remembers: bool) -> None:
    assert LoopConfig.of(settings).remembers_calls is remembers
