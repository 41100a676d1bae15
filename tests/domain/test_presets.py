from __future__ import annotations

from datetime import date

import pytest

from tests.samples import complaint
from toolreel.config import LoopConfig
from toolreel.errors import ConfigError
from toolreel.presets import PRESETS, Preset, configured, preset


def test_no_preset_and_no_change_are_the_defaults() -> None:
    assert configured([]) == LoopConfig()


def test_a_preset_changes_only_what_it_declares() -> None:
    assert configured(["qwen2_5_coder"]) == LoopConfig(text_dialects=("hermes_json", "json_fenced"))


def test_presets_are_joined_in_order_and_say_nothing_twice() -> None:
    joined = configured(["content_tag_tool_call_fallback", "qwen2_5_coder"])
    assert joined == LoopConfig(text_dialects=("hermes_json", "json_fenced"))


def test_changes_have_the_last_word() -> None:
    changed = configured(["qwen2_5_coder"], {"max_turns": 4, "text_dialects": ["json_fenced"]})
    assert changed == LoopConfig(max_turns=4, text_dialects=("json_fenced",))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_found_by_its_name_and_can_be_applied(name: str) -> None:
    assert preset(name).name == name
    assert configured([name]).text_dialects == preset(name).text_dialects


@pytest.mark.parametrize("found", PRESETS.values(), ids=PRESETS)
def test_every_preset_says_what_it_does_and_where_its_claim_comes_from(found: Preset) -> None:
    assert found.about.endswith(".")
    assert found.source
    assert date.fromisoformat(found.verified_on).isoformat() == found.verified_on


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("qwen2_5_codr", "did you mean 'qwen2_5_coder'?"),
        ("zzz", "there are: content_tag_tool_call_fallback, qwen2_5_coder"),
    ],
)
def test_a_preset_that_does_not_exist_is_refused_with_a_hint(name: str, hint: str) -> None:
    assert complaint(ConfigError, lambda: configured([name])) == f"there is no preset {name!r}; {hint}"
