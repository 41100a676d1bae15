from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import pytest

from tests.samples import ROOT, complaint, worked
from toolreel_core._errors import ConfigError
from toolreel_core._protocol import CODEC_VERSION
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import MARKED


def test_records_leave_the_defaults_out_so_one_that_changes_takes_a_new_version_of_the_codec() -> None:
    assert CODEC_VERSION == 1
    defaults = (ROOT / "tests" / "corpora" / "loop-config.json").read_text("utf-8")
    assert json.dumps(asdict(LoopConfig()), indent=1, ensure_ascii=False) == defaults.rstrip()


def test_the_default_dialects_are_read_only_where_tools_are_offered() -> None:
    assert LoopConfig().dialects(offered=True) == MARKED
    assert LoopConfig().dialects(offered=False) == ()
    named = LoopConfig(text_dialects=("hermes_json",))
    assert named.dialects(offered=True) == named.dialects(offered=False) == ("hermes_json",)


def test_the_changes_of_a_configuration_make_it_again() -> None:
    changed = LoopConfig(max_tool_args_bytes=9, text_dialects=("json_fenced",))
    assert changed.changes() == {"max_tool_args_bytes": 9, "text_dialects": ("json_fenced",)}
    assert LoopConfig.of(changed.changes()) == changed


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
        ({"untrusted_tools": {"web"}}, "untrusted_tools: expected a list of texts, got {'web'}"),
        (
            {"zzz": 3},
            "there is no setting 'zzz'; there are: "
            f"{', '.join([item.name for item in fields(LoopConfig)][:12])}, and "
            f"{len(fields(LoopConfig)) - 12} more",
        ),
        *worked("a wrong setting of a loop is named", "runs-and-plans"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(
    changes: Mapping[str, Any], why: str
) -> None:
    assert complaint(ConfigError, lambda: LoopConfig.of(changes)) == why


def test_all_marked_dialects_have_one_name() -> None:
    config = LoopConfig.of({"text_dialects": ["marked", "json_fenced", "hermes_json"]})
    assert config.text_dialects == (*MARKED, "json_fenced")


@pytest.mark.parametrize("limit", ["max_cost", "max_conversation_cost"])
def test_a_run_needs_costs_if_they_are_limited_and_an_unknown_one_stops_it(limit: str) -> None:
    stops, goes_on = LoopConfig.of({limit: 1}), LoopConfig.of({limit: 1, "unknown_cost": "allow"})
    assert (stops.needs_costs, goes_on.needs_costs, goes_on.limits_cost) == (True, False, True)
