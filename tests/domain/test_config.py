from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.samples import complaint
from toolreel.config import LoopConfig, unknown_name
from toolreel.errors import ConfigError

COUNTS = ["max_turns", "max_tool_args_bytes", "max_tool_output_bytes", "max_argument_depth"]


def test_the_defaults_are_these_for_ever_since_records_leave_them_out() -> None:
    assert LoopConfig() == LoopConfig(
        max_turns=12,
        max_tool_args_bytes=200_000,
        max_tool_output_bytes=200_000,
        max_argument_depth=64,
        text_dialects=(),
    )


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
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True, None])
def test_a_limit_is_a_whole_number_of_at_least_one(key: str, value: object) -> None:
    assert complaint(ConfigError, lambda: LoopConfig.of({key: value})) == (
        f"{key}: expected a whole number of at least 1, got {value!r}"
    )


@pytest.mark.parametrize("key", COUNTS)
def test_a_limit_of_one_is_allowed(key: str) -> None:
    assert getattr(LoopConfig.of({key: 1}), key) == 1


def test_arguments_may_nest_as_deep_as_can_be_read_back_and_no_deeper() -> None:
    assert LoopConfig(max_argument_depth=128).max_argument_depth == 128
    assert complaint(ConfigError, lambda: LoopConfig(max_argument_depth=129)) == (
        "max_argument_depth: at most 128, got 129"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"max_turn": 3}, "there is no setting 'max_turn'; did you mean 'max_turns'?"),
        (
            {"zzz": 3},
            "there is no setting 'zzz'; there are: max_turns, max_tool_args_bytes, max_tool_output_bytes, "
            "max_argument_depth, text_dialects",
        ),
        (
            {"text_dialects": ["hermes"]},
            "text_dialects: there is no dialect 'hermes'; did you mean 'hermes_json'?",
        ),
        (
            {"text_dialects": ["zzz"]},
            "text_dialects: there is no dialect 'zzz'; there are: hermes_json, json_fenced",
        ),
        ({"text_dialects": "hermes_json"}, "text_dialects: expected a list of names, got 'hermes_json'"),
        (
            {"text_dialects": ["hermes_json", 3]},
            "text_dialects: expected a list of names, got ['hermes_json', 3]",
        ),
        ({"text_dialects": None}, "text_dialects: expected a list of names, got None"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(
    changes: Mapping[str, Any], why: str
) -> None:
    assert complaint(ConfigError, lambda: LoopConfig.of(changes)) == why


@pytest.mark.parametrize("known", [["alpha", "beta"], ("alpha", "beta"), {"alpha": 1, "beta": 2}])
def test_a_name_that_does_not_exist_is_told_with_the_nearest_that_does(
    known: list[str] | tuple[str, ...] | Mapping[str, object],
) -> None:
    assert unknown_name("letter", "alpa", known) == "there is no letter 'alpa'; did you mean 'alpha'?"
    assert unknown_name("letter", "q", known) == "there is no letter 'q'; there are: alpha, beta"
