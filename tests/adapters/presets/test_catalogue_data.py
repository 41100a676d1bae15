"""The shipped catalogues: whole, evidenced, and with the facts of the case study of 2026-02-08."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.samples import ECHO, printed_under
from toolreel.evals import published_case_study_figures
from toolreel.presets import shipped
from toolreel_core._jsontext import parse
from toolreel_core._plan import Preset, preset_changes
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core.evals import profiles_by_model, select_models

SHIPPED = shipped()
ROOT = Path(__file__).resolve().parents[3]


def test_every_shipped_price_says_where_and_when_it_was_read() -> None:
    assert SHIPPED.prices
    for entry in SHIPPED.prices:
        assert entry.provider in SHIPPED.providers
        assert date.fromisoformat(entry.price.as_of) < date(2026, 11, 23)
        assert entry.price.source.startswith("https://")
        assert entry.price.cached_input is not None
        assert entry.price.cached_input < entry.price.input < entry.price.output


# model: workaround, verdict, recommended profiles, best profile, successes of 20 runs, p95 in ms
STUDY: Mapping[str, Any] = published_case_study_figures()["model"]
VERDICTS = {"yes": "Yes", "yes_for_tools": "Yes (tool scenarios)", "conditional": "Conditional"}


PROVIDERS = (
    *("openrouter", "openai", "volcengine", "llama_cpp", "vllm", "ollama"),
    *("deepseek", "mistral", "gemini", "moonshot", "anthropic"),
)


def test_models_name_presets_that_there_are() -> None:
    for model in SHIPPED.models:
        SHIPPED.merged([*model.presets, *(name for _, names in model.presets_by_provider for name in names)])


@pytest.mark.parametrize("preset", SHIPPED.presets, ids=SHIPPED.names)
def test_every_preset_says_what_it_does_cites_its_evidence_and_can_be_applied(preset: Preset) -> None:
    assert preset.about.endswith(".")
    assert preset.evidence
    assert date.fromisoformat(preset.verified_on).isoformat() == preset.verified_on
    plan = preset.plan(model="m", messages="hi", tools=[ECHO])
    declared = preset.changes()
    assert plan.config == LoopConfig.of(declared["config"])
    assert plan.provider == Provider.of(declared["provider"])
    assert plan.presets == (preset.name,)
    threads = [source for source in preset.evidence if "#" in source]
    odd = [source for source in threads if not re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", source)]
    assert not odd, f"cite a thread as owner/repository#number: {odd}"
    recordings = [name for source in preset.evidence for name in re.findall(r"\S+\.yaml", source)]
    absent = [name for name in recordings if not (name.startswith("cassettes/") and (ROOT / name).is_file())]
    assert not absent, f"cite a recording by its path, as in cassettes/probes/lab/lab-1.yaml: {absent}"


@pytest.mark.parametrize("preset", SHIPPED.presets, ids=SHIPPED.names)
def test_every_quirk_has_its_reason_and_what_is_no_quirk_only_says_what_is_taken(preset: Preset) -> None:
    reasons = dict(preset.because)
    unreasoned = [change.key for change in preset_changes(preset) if change.key.split(".")[1] not in reasons]
    plain = r"provider\.(name|supports_\w+|reasoning_(field|replay))|config\.\w+|request\.\w+"
    missing = [key for key in unreasoned if not re.fullmatch(plain, key)]
    assert not missing, f"say why in [preset.{preset.name}.because]: {', '.join(missing)}"


def test_the_providers_are_those_that_are_promised() -> None:
    assert SHIPPED.providers == PROVIDERS, (
        "name each new provider in PROVIDERS above, in the catalogue's order"
    )
    for name in PROVIDERS:
        assert SHIPPED.for_(name).changes()["provider"]["name"] == name


def test_a_model_that_writes_calls_as_text_has_its_workaround_and_the_smallest_is_held_to_calls() -> None:
    small, larger = "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", "Qwen/Qwen2.5-Coder-7B-Instruct"
    for provider, model in (("ollama", small), ("ollama", larger), ("llama.cpp", larger)):
        assert SHIPPED.workaround(provider, model).names == ("qwen2_5_coder",)
    names = SHIPPED.workaround("llama_cpp", small).names
    assert names[0] == "qwen2_5_coder"
    assert "weak_local_models" in names


def test_they_agree_with_the_tables_of_the_case_study() -> None:
    found = {model.name: model for model in SHIPPED.models if not model.family}
    assert found.keys() == STUDY.keys()
    assert len(STUDY) == 17
    for name, told in STUDY.items():
        known = found[name].recommendation
        assert known is not None
        assert VERDICTS.get(known.verdict, "No (tool calling)") == told["recommended"], name
        measured = (known.best_profile, known.ok, known.runs, known.p95_ms)
        assert measured == (told["profile"], *told["tools"], told["p95_ms"]), name
        assert re.sub(r" \([^)]*\)", "", told["profiles"]) == " / ".join(known.profiles), name
        assert ("".join(found[name].presets) or "-") == told["preset"], name
        assert known.measured_on == published_case_study_figures()["measured_on"]


@pytest.mark.parametrize("model", STUDY)
def test_a_model_on_openrouter_gets_its_workaround_whatever_its_route(model: str) -> None:
    workaround = STUDY[model]["preset"].strip("-")
    expected = ("default_tool_calling", "openrouter", *((workaround,) if workaround else ()))
    assert SHIPPED.for_("openrouter", model).names == expected
    assert SHIPPED.for_("openrouter", model.partition(":")[0].upper()).names == expected


@pytest.mark.parametrize("model", STUDY)
def test_recommended_profiles_are_for_their_model(model: str) -> None:
    known = SHIPPED.recommendation(model)
    assert known is not None
    names = [profile.name for profile in SHIPPED.sampling_profiles(model)]
    assert {*known.profiles, known.best_profile} <= {*names}


def test_the_production_default_is_one_call_a_turn_where_the_request_can_say_so() -> None:
    for provider, options, calls in (
        ("openrouter", {"parallel_tool_calls": False}, 1),
        ("ollama", {}, None),
        ("elsewhere", {}, None),
    ):
        plan = SHIPPED.for_(provider, "m").plan(model="m", messages="hi", tools=[ECHO])
        assert parse(plan.options) == options
        assert plan.calls_per_turn == calls
        assert plan.config.nudge_no_tool_calls == 1


def test_raw_undoes_what_mends() -> None:
    raw = SHIPPED.for_("openrouter", "qwen/qwen3-235b-a22b-2507").merged(SHIPPED.get("raw"))
    config = raw.plan(model="m", messages="hi").config
    bare = {"argument_repairs": "strict", "accept_suspected_calls": True, "text_dialects": ()}
    assert config.changes() == bare
    alone = SHIPPED.get("raw").plan(model="m", messages="hi").config
    assert alone.changes() == bare


def test_a_model_without_tools_is_never_sent_any() -> None:
    plan = SHIPPED.for_("openrouter", "minimax/minimax-m2-her").plan(model="m", messages="hi", tools=[ECHO])
    assert plan.config.tool_use_mode == "disabled"


def test_signatures_of_gemini_go_where_the_provider_reads_them() -> None:
    model = "google/gemini-3-pro-preview"
    routed = SHIPPED.for_("openrouter", model).changes()["provider"]
    direct = SHIPPED.for_("vertex", model).changes()["provider"]
    assert (routed["signature_channel"], routed["pin_upstream"]) == ("reasoning_details", True)
    assert (direct["signature_channel"], direct.get("pin_upstream")) == ("extra_content", None)


def test_the_catalogue_is_the_same_in_every_process() -> None:
    program = "from toolreel.presets import shipped; print(shipped())"
    assert printed_under(0, program) == printed_under(1, program)


def test_the_filter_of_the_case_study_leaves_its_29_pairs() -> None:
    """Its harness takes whole names, vendors and tags: with parts of names as well, there are 30."""
    words = ("default", "recommended", "conversation", "creative", "tool_calling")
    models = select_models(SHIPPED, ("all",), ())
    assert len(models) == 17
    assert sum(map(len, profiles_by_model(SHIPPED, words, models).values())) == 29
    assert select_models(SHIPPED, ("openai/gpt-5.2",), ()) == ("openai/gpt-5.2:nitro",)
    assert select_models(SHIPPED, ("qwen3-next",), ()) == ("qwen/qwen3-next-80b-a3b-instruct:nitro",)
