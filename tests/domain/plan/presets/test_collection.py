from __future__ import annotations

from typing import Any

import pytest

from tests.samples import complaint, worked
from toolreel_core._config_checks import PlaceError
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical
from toolreel_core._plan import Model, Preset, Presets, Recommendation, SamplingProfile, matches_model

RECOMMENDED = {"verdict": "yes", "ok": 19, "runs": 20}
CATALOGUE: dict[str, Any] = {
    "preset": {
        "default_tool_calling": {"config": {"max_tool_calls_per_turn": 1}},
        "llama_cpp": {
            "defaults_for": ["llama_cpp", "llama_server"],
            "provider": {"supports_required": "yes"},
        },
        "cloud": {"defaults_for": ["cloud"]},
        "tags": {"config": {"text_dialects": ["llama_json"]}},
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


def test_what_does_not_exist_is_refused_with_a_hint() -> None:
    assert complaint(ConfigError, lambda: PRESETS.get("tag")) == (
        "there is no preset 'tag'; did you mean 'tags'?"
    )
    assert complaint(ConfigError, lambda: PRESETS.profile("warm")) == (
        "there is no sampling profile 'warm'; there are: default, cool"
    )


def test_a_model_gets_the_base_then_its_provider_then_its_own_presets() -> None:
    composed = PRESETS.for_("llama_cpp", "a/model-1")
    assert composed.names == ("default_tool_calling", "llama_cpp", "tags", "fences")
    assert composed.changes()["provider"] == {"supports_required": "yes"}
    assert composed.changes()["config"] == {
        "max_tool_calls_per_turn": 1,
        "text_dialects": ["marked", "llama_json", "json_fenced"],
    }


@pytest.mark.parametrize("name", ["llama_cpp", "LLAMA-CPP", "llama.cpp", "Llama Server"])
def test_a_provider_is_known_by_all_its_names_however_they_are_written(name: str) -> None:
    assert PRESETS.defaults(name) == PRESETS.get("llama_cpp")


def test_a_later_preset_takes_a_provider_over() -> None:
    own = PRESETS.extended(Presets.of({"preset": {"mine": {"defaults_for": ["Llama-Server"]}}}))
    assert own.defaults("llama_server").names == ("mine",)
    assert own.defaults("llama_cpp").names == ("llama_cpp",)


def test_the_most_exact_pattern_wins() -> None:
    assert dialects(PRESETS.workaround("", "a/model-1:free")) == ["marked", "llama_json", "json_fenced"]
    assert dialects(PRESETS.workaround("", "a/model-2")) == ["marked", "json_fenced"]


def test_of_two_equal_patterns_the_later_wins() -> None:
    own = Presets.of({"model": {"mine": {"patterns": ["A/Model-1"]}}})
    found = PRESETS.extended(own).model("a/model-1")
    assert found is not None
    assert found.name == "mine"


def test_a_workaround_for_one_provider_is_not_used_elsewhere() -> None:
    assert dialects(PRESETS.for_("Cloud", "cloudy")) == ["marked", "llama_json"]
    assert dialects(PRESETS.for_("llama_cpp", "cloudy")) == []
    assert dialects(PRESETS.for_("", "cloudy")) == []


def test_a_model_may_need_more_at_one_provider() -> None:
    needs = {"presets": ["tags"], "presets_by_provider": {"llama.cpp": ["local"], "cloud": []}}
    tree = {"preset": {"local": {"config": {"max_turns": 3}}}, "model": {"small": needs}}
    own = PRESETS.extended(Presets.of(tree))
    assert own.workaround("llama-server", "small").names == ("tags", "local")
    assert own.workaround("cloud", "small").names == ("tags",)
    assert own.workaround("", "small").names == ("tags",)


def test_a_recommendation_is_that_of_the_model_that_is_meant() -> None:
    known = PRESETS.recommendation("A/model-1:floor")
    assert known is not None
    assert (known.best_profile, known.ok, known.runs, known.rate) == ("default", 19, 20, 0.95)
    assert PRESETS.recommendation("plain") is None


def test_sampling_profiles_are_those_for_the_model() -> None:
    assert [profile.name for profile in PRESETS.sampling_profiles("a/x")] == ["default", "cool"]
    assert [profile.name for profile in PRESETS.sampling_profiles("b/x")] == ["default"]
    assert PRESETS.providers == ("llama_cpp", "cloud")


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
    ("tree", "text"), worked("a catalogue that cannot be used is refused at its place", "runs-and-plans")
)
def test_a_catalogue_that_cannot_be_used_is_refused_at_its_place(tree: object, text: str) -> None:
    assert text in complaint(PlaceError, lambda: PRESETS.extended(Presets.of(tree)))


MEASURED = {
    "verdict": "conditional",
    "profiles": ["cool"],
    "best_profile": "cool",
    "ok": 19,
    "runs": 20,
    "p95_ms": 47625,
    "measured_on": "2026-02-08",
    "note": "Slow.",
}


def test_a_model_is_read_as_it_stands() -> None:
    tree = {
        "patterns": ["a/m*"],
        "provider": "p",
        "presets": ["one", "two"],
        "recommendation": MEASURED,
        "tags": ["stable"],
    }
    assert Model.of("a/m:nitro", tree) == Model(
        "a/m:nitro",
        ("a/m*",),
        "p",
        ("one", "two"),
        Recommendation("conditional", ("cool",), "cool", 19, 20, 47625, "2026-02-08", "Slow."),
        ("stable",),
    )


def test_a_name_with_a_star_is_that_of_a_family() -> None:
    assert Model.of("qwen3-*", {}).family
    assert not Model.of("qwen3-8b", {"patterns": ["qwen3-*"]}).family


@pytest.mark.parametrize(
    ("pattern", "model", "meant"),
    worked("a pattern means a model whatever its case and route", "runs-and-plans"),
)
def test_a_pattern_means_a_model_whatever_its_case_and_route(pattern: str, model: str, meant: bool) -> None:
    assert matches_model(pattern, model) == meant


COOL = {"options": {"temperature": 0.3}, "applies_to": ["x-ai/grok-*"], "tags": ["grok"]}


def test_a_profile_is_read_as_it_stands() -> None:
    profile = SamplingProfile.of("cool", COOL)
    assert profile == SamplingProfile("cool", canonical({"temperature": 0.3}), ("x-ai/grok-*",), ("grok",))
    assert SamplingProfile.of("plain", {}) == SamplingProfile("plain", canonical({}))


def test_a_profile_is_a_patch_of_the_request() -> None:
    base = Preset.of("base", {"request": {"temperature": 1, "top_p": 0.9}})
    merged = base.merged(SamplingProfile.of("cool", COOL).preset)
    assert merged.request == canonical({"temperature": 0.3, "top_p": 0.9})
    assert merged.names == ("base", "cool")
