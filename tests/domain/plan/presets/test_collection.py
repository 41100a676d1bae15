from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._internal.checks import PlaceError
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._plan.presets.collection import Presets
from toolreel_core._plan.presets.models import Measured
from toolreel_core._plan.presets.preset import Preset

RECOMMENDED = {"verdict": "yes", "ok": 19, "runs": 20}
CATALOGUE: dict[str, Any] = {
    "preset": {
        "default_tool_calling": {"config": {"max_tool_calls_per_turn": 1}},
        "llama_cpp": {
            "defaults_for": ["llama_cpp", "llama_server"],
            "provider": {"supports_required": "yes"},
        },
        "cloud": {"defaults_for": ["cloud"]},
        "tags": {"config": {"text_dialects": ["hermes_json"]}},
        "fences": {"config": {"text_dialects": ["json_fenced"]}},
    },
    "model": {
        "a/model-1:nitro": {"presets": ["tags", "fences"], "recommendation": RECOMMENDED},
        "a/*": {"presets": ["fences"]},
        "cloudy": {"presets": ["tags"], "provider": "cloud"},
        "plain": {},
    },
    "sampling": {"default": {}, "cool": {"applies_to": ["a/*"], "options": {"temperature": 0}}},
}
PRESETS = Presets().extended(Presets.of(CATALOGUE))


def dialects(preset: Preset) -> object:
    return preset.changes()["config"].get("text_dialects", [])


def test_presets_are_found_by_name() -> None:
    assert PRESETS.names == ("default_tool_calling", "llama_cpp", "cloud", "tags", "fences")
    assert PRESETS.get("tags") == Preset.of("tags", CATALOGUE["preset"]["tags"])
    assert PRESETS.profile("cool").options == canonical({"temperature": 0})


def test_what_does_not_exist_is_refused_with_a_hint() -> None:
    assert complaint(ConfigError, lambda: PRESETS.get("tag")) == (
        "there is no preset 'tag'; did you mean 'tags'?"
    )
    assert complaint(ConfigError, lambda: PRESETS.profile("warm")) == (
        "there is no sampling profile 'warm'; there are: default, cool"
    )


def test_presets_are_merged_in_the_order_in_which_they_are_named() -> None:
    assert dialects(PRESETS.merged(["fences", "tags"])) == ["json_fenced", "hermes_json"]
    assert PRESETS.merged([]) == Preset()


def test_a_model_gets_the_base_then_its_provider_then_its_own_presets() -> None:
    composed = PRESETS.for_("llama_cpp", "a/model-1")
    assert composed.names == ("default_tool_calling", "llama_cpp", "tags", "fences")
    assert composed.changes()["provider"] == {"supports_required": "yes"}
    assert composed.changes()["config"] == {
        "max_tool_calls_per_turn": 1,
        "text_dialects": ["hermes_json", "json_fenced"],
    }


def test_a_provider_may_be_named_alone() -> None:
    assert PRESETS.for_("cloud").names == ("default_tool_calling", "cloud")
    assert PRESETS.providers == ("llama_cpp", "cloud")


@pytest.mark.parametrize("name", ["llama_cpp", "LLAMA-CPP", "llama.cpp", "Llama Server"])
def test_a_provider_is_known_by_all_its_names_however_they_are_written(name: str) -> None:
    assert PRESETS.defaults(name) == PRESETS.get("llama_cpp")


def test_a_later_preset_takes_a_provider_over() -> None:
    own = PRESETS.extended(Presets.of({"preset": {"mine": {"defaults_for": ["Llama-Server"]}}}))
    assert own.defaults("llama_server").names == ("mine",)
    assert own.defaults("llama_cpp").names == ("llama_cpp",)


def test_an_unknown_provider_gets_the_base_and_an_unknown_model_no_workaround() -> None:
    assert PRESETS.for_("elsewhere", "b/model").names == ("default_tool_calling",)
    assert PRESETS.defaults("elsewhere") == Preset()
    assert PRESETS.model("b/model") is None
    assert PRESETS.recommendation("b/model") is None


def test_without_a_base_there_is_none() -> None:
    assert Presets().for_("elsewhere", "b/model") == Preset()


def test_the_most_exact_pattern_wins() -> None:
    assert dialects(PRESETS.workaround("", "a/model-1:free")) == ["hermes_json", "json_fenced"]
    assert dialects(PRESETS.workaround("", "a/model-2")) == ["json_fenced"]


def test_of_two_equal_patterns_the_later_wins() -> None:
    own = Presets.of({"model": {"mine": {"patterns": ["A/Model-1"]}}})
    found = PRESETS.extended(own).model("a/model-1")
    assert found is not None
    assert found.name == "mine"


def test_a_workaround_for_one_provider_is_not_used_elsewhere() -> None:
    assert dialects(PRESETS.for_("Cloud", "cloudy")) == ["hermes_json"]
    assert dialects(PRESETS.for_("llama_cpp", "cloudy")) == []
    assert dialects(PRESETS.for_("", "cloudy")) == []


def test_a_recommendation_is_that_of_the_model_that_is_meant() -> None:
    known = PRESETS.recommendation("A/model-1:floor")
    assert known is not None
    assert known.measured == Measured("default", 19, 20, 0)
    assert PRESETS.recommendation("plain") is None


def test_sampling_profiles_are_those_for_the_model() -> None:
    assert [profile.name for profile in PRESETS.sampling_profiles("a/x")] == ["default", "cool"]
    assert [profile.name for profile in PRESETS.sampling_profiles("b/x")] == ["default"]


def test_a_catalogue_over_another_replaces_by_name_and_adds_the_rest() -> None:
    own = Presets.of(
        {
            "preset": {"tags": {"about": "Mine."}, "more": {}},
            "model": {"plain": {"presets": ["more"]}},
            "sampling": {"default": {"options": {"temperature": 1}}},
        }
    )
    both = PRESETS.extended(own)
    assert both.names == (*PRESETS.names, "more")
    assert both.get("tags").about == "Mine."
    assert both.workaround("", "plain").names == ("more",)
    assert both.profile("default").options == canonical({"temperature": 1})
    assert both.extended(Presets()) == both


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ([], "expected a table, got []"),
        ({"presets": {}}, "there is no key 'presets'; did you mean 'preset'?"),
        ({"preset": []}, "preset: expected a table, got []"),
        ({"preset": {"a": 1}}, "preset.a: expected a table, got 1"),
        ({"model": {"a": {"preset": []}}}, "model.a: there is no key 'preset'; did you mean 'presets'?"),
        ({"sampling": {"a": {"tags": 1}}}, "sampling.a.tags: expected a list of texts, got 1"),
        (
            {"model": {"a": {"presets": ["tag"]}}},
            "model.a.presets: there is no preset 'tag'; did you mean 'tags'?",
        ),
        (
            {"model": {"a": {"recommendation": {**RECOMMENDED, "profiles": ["coool"]}}}},
            "model.a.recommendation.profiles: there is no sampling profile 'coool'; did you mean 'cool'?",
        ),
        (
            {"model": {"a": {"recommendation": {**RECOMMENDED, "best_profile": "coool"}}}},
            "model.a.recommendation.best_profile: there is no sampling profile 'coool'",
        ),
    ],
)
def test_a_catalogue_that_cannot_be_used_is_refused_at_its_place(tree: object, text: str) -> None:
    assert text in complaint(PlaceError, lambda: PRESETS.extended(Presets.of(tree)))
