"""What strategies come to; each is one complete configuration, and nothing is merged underneath."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.evals_values import CATALOGUE, MENDING
from tests.preset_values import presets
from toolreel_core._jsontext import JsonText, canonical, parse
from toolreel_core._plan import LIST_SETTINGS, Preset, Presets, SamplingProfile
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._text_calls import MARKED
from toolreel_core.evals import (
    STRATEGIES,
    Configuration,
    EvalEndpoint,
    Options,
    Strategy,
    configuration_for,
    evaluation_options_preset,
    strategies_of,
)

RAW, BASELINE, PRODUCTION = STRATEGIES
DEFAULT, RECOMMENDED, _ = CATALOGUE.profiles


def of(
    strategy: Strategy,
    model: str = "a/one:fast",
    *,
    catalogue: Presets = CATALOGUE,
    options: Options | None = None,
    provider: str = "router",
    profile: SamplingProfile = DEFAULT,
    changes: Preset | None = None,
) -> Configuration:
    endpoint = EvalEndpoint(provider=provider)
    return configuration_for(
        catalogue, options or Options(), endpoint, strategy, model, profile, changes or Preset()
    )


def test_raw_knows_nothing_mends_nothing_and_sends_nothing() -> None:
    bare = LoopConfig(argument_repairs="strict", text_dialects=(), tool_use_mode="enforced")
    assert of(RAW) == Configuration(bare, presets=("raw", "default"))


def test_baseline_mends_and_knows_the_provider() -> None:
    found = of(BASELINE)
    assert found.config == LoopConfig(response_transforms=(MENDING,), tool_use_mode="enforced")
    assert found.provider == Provider(name="router", supports_parallel_tool_calls="yes")
    assert parse(found.options) == {"parallel_tool_calls": False}
    assert found.presets == ("default_tool_calling", "router", "baseline", "default")


def test_production_knows_the_model_too() -> None:
    found = of(PRODUCTION)
    assert found.config == LoopConfig(
        nudge_no_tool_calls=1,
        text_dialects=("marked", "react"),
        response_transforms=(MENDING,),
        tool_use_mode="enforced",
    )
    assert of(PRODUCTION, "a/two").config.tool_use_mode == "disabled"
    assert of(BASELINE, "a/two").config.tool_use_mode == "enforced"


def test_the_sampling_goes_over_the_profile_and_the_scenario_over_both() -> None:
    options = Options(sampling=canonical({"top_p": 0.5, "top_k": 4}))
    changes = Preset(request=canonical({"top_k": 9, "parallel_tool_calls": True}))
    found = of(BASELINE, options=options, profile=RECOMMENDED, changes=changes)
    assert parse(found.options) == {
        "parallel_tool_calls": True,
        "temperature": 0.7,
        "top_p": 0.5,
        "top_k": 9,
    }
    odd = of(RAW, provider="", options=Options(sampling=JsonText("[]")))
    assert parse(odd.options) == {}


def test_a_workaround_goes_over_what_the_evaluation_asks_for_and_the_scenario_over_all() -> None:
    options = Options(fix_empty_final=False)
    assert [of(strategy, "a/two", options=options).config.tool_use_mode for strategy in STRATEGIES] == [
        *("enforced", "enforced", "disabled"),
    ]
    changes = Preset(config=canonical({"tool_use_mode": "relaxed"}))
    assert of(PRODUCTION, "a/two", options=options, changes=changes).config.tool_use_mode == "relaxed"
    assert not of(PRODUCTION, "a/two", options=options).config.fix_empty_final


@pytest.mark.parametrize(
    ("strategy", "model", "tags", "dialects"),
    [
        ("production", "b/three", False, MARKED),
        ("production", "b/three", True, (*MARKED, "react")),
        ("production", "a/one:fast", False, (*MARKED, "react")),
        ("baseline", "a/one:fast", True, (*MARKED, "react")),
        ("raw", "a/one:fast", True, ()),
    ],
)
def test_calls_are_read_from_text_as_model_and_evaluation_say_but_never_in_raw(
    strategy: str, model: str, tags: bool, dialects: tuple[str, ...]
) -> None:
    chosen = next(each for each in STRATEGIES if each.name == strategy)
    options = Options(content_tag_fallback=tags)
    assert of(chosen, model, options=options).config.text_dialects == dialects


@given(presets, presets)
def test_a_layer_changes_only_the_keys_that_it_declares(harness: Preset, changes: Preset) -> None:
    """Merged last, a patch leaves everything else as it was; the lists that it names may grow."""
    options = Options(loop=harness.config, request_overrides=harness.request_overrides)
    before, after = of(PRODUCTION, options=options), of(PRODUCTION, options=options, changes=changes)
    declared = changes.changes()["config"]
    for key in LIST_SETTINGS:
        if key not in declared:
            assert getattr(after.config, key) == getattr(before.config, key)
    kept = [key for key in before.config.changes() if key not in declared]
    assert [getattr(after.config, key) for key in kept] == [getattr(before.config, key) for key in kept]


OWN = {
    "mine": {
        "about": "Patient.",
        "tags": ["t"],
        "presets": ["off"],
        "config": {"max_turns": 40},
        "provider": {"thinking": True},
    },
    "yours": {"extends": "mine", "config": {"max_turns": 50}},
    "bare": {"extends": "raw", "request": {"top_p": 1}},
}


def test_a_strategy_of_ones_own_extends_another() -> None:
    *shipped, mine, yours, naked = strategies_of(OWN, CATALOGUE)
    assert tuple(shipped) == STRATEGIES
    assert (mine.name, mine.about, mine.tags, mine.workarounds) == ("mine", "Patient.", ("t",), True)
    assert yours.about == "mine, changed"
    found = of(yours)
    assert (found.config.max_turns, found.config.tool_use_mode) == (50, "enforced")
    assert found.provider.thinking
    assert found.presets[-3:] == ("mine", "yours", "default")
    assert parse(of(naked).options) == {"top_p": 1}
    bare = Presets.of({"preset": {"baseline": {}}, "sampling": {"default": {}}})
    assert of(BASELINE, catalogue=bare, provider="").config == LoopConfig(tool_use_mode="enforced")


def test_the_caps_of_one_run_are_limits_of_its_loop() -> None:
    run = {"max_cost": 0.5, "max_tokens": 20_000, "max_minutes": 1.5}
    config = LoopConfig.of(
        evaluation_options_preset(Options.of({"budget": {"run": run}})).changes()["config"]
    )
    assert (config.max_cost, config.max_total_tokens, config.max_wall_ms) == (0.5, 20_000, 90_000)
