from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel_core._internal.checks import PlaceError
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._plan.presets.models import (
    Measured,
    Model,
    Recommendation,
    SamplingProfile,
    bare,
    best,
    means,
)
from toolreel_core._plan.presets.preset import Preset

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
LEAST = {"verdict": "no", "runs": 1}


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
        Recommendation("conditional", ("cool",), Measured("cool", 19, 20, 47625), "2026-02-08", "Slow."),
        ("stable",),
    )


def test_a_model_of_which_nothing_is_said_is_meant_by_its_name() -> None:
    assert Model.of("a/m:nitro", {}) == Model("a/m:nitro", ("a/m:nitro",))


def test_a_name_with_a_star_is_that_of_a_family() -> None:
    assert Model.of("qwen3-*", {}).family
    assert not Model.of("qwen3-8b", {"patterns": ["qwen3-*"]}).family


def test_what_is_not_measured_is_nought_and_the_profile_the_default() -> None:
    known = Model.of("m", {"recommendation": LEAST}).recommendation
    assert known == Recommendation("no", ("default",), Measured("default", 0, 1, 0), "")


def test_a_model_is_meant_as_exactly_as_its_best_pattern_says() -> None:
    model = Model.of("m", {"patterns": ["a/*", "a/model*"]})
    assert model.exactness("a/model-1:free") == (False, 7)
    assert model.exactness("b/model-1") is None


def test_the_rate_is_the_share_of_runs_that_succeeded() -> None:
    assert Measured("default", 12, 20, 0).rate == 0.6


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ([], 'model."a/m": expected a table, got []'),
        ({"pattern": []}, "there is no key 'pattern'; did you mean 'patterns'?"),
        ({"presets": "x"}, "model.\"a/m\".presets: expected a list of texts, got 'x'"),
        ({"recommendation": 1}, 'model."a/m".recommendation: expected a table, got 1'),
        (
            {"recommendation": {**LEAST, "verdict": "perhaps"}},
            "recommendation.verdict: expected one of yes, yes_for_tools, conditional, no, got 'perhaps'",
        ),
        ({"recommendation": {"verdict": "no"}}, "runs: expected at least 1 and no fewer than ok (0), got 0"),
        (
            {"recommendation": {**LEAST, "ok": 2}},
            "recommendation.runs: expected at least 1 and no fewer than ok (2), got 1",
        ),
        ({"recommendation": {**LEAST, "p95": 1}}, "there is no key 'p95'; did you mean 'p95_ms'?"),
        ({"recommendation": {**LEAST, "measured_on": "soon"}}, "measured_on: expected a day such as"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_at_its_place(tree: object, text: str) -> None:
    assert text in complaint(PlaceError, lambda: Model.of("a/m", tree))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("deepseek/deepseek-v3.2:nitro", "deepseek/deepseek-v3.2"),
        ("Z-AI/GLM-4.7:Free", "z-ai/glm-4.7"),
        ("x-ai/grok-4.1-fast", "x-ai/grok-4.1-fast"),
        ("qwen2.5-coder:1.5b", "qwen2.5-coder:1.5b"),
        ("nitro", "nitro"),
        (":free", ":free"),
        ("", ""),
    ],
)
def test_what_only_routes_is_no_part_of_a_name(model: str, name: str) -> None:
    assert bare(model) == name


@pytest.mark.parametrize(
    ("pattern", "model", "meant"),
    [
        ("qwen/qwen3-*", "qwen/qwen3-30b:nitro", True),
        ("Qwen/QWEN3-*", "qwen/qwen3-30b", True),
        ("z-ai/glm-4.7:nitro", "z-ai/glm-4.7", True),
        ("z-ai/glm-4.7:nitro", "z-ai/glm-4.7-flash", False),
        ("z-ai/glm-4.7", "glm-4.7", False),
        ("*glm-4.7", "z-ai/glm-4.7:floor", True),
        ("qwen2.5-coder:1.5b", "qwen2.5-coder:7b", False),
    ],
)
def test_a_pattern_means_a_model_whatever_its_case_and_route(pattern: str, model: str, meant: bool) -> None:
    assert means(pattern, model) == meant


def test_the_most_exact_of_several_patterns_counts() -> None:
    exact, long, short = (best([each], "a/model-1") for each in ("a/model-1", "a/model*", "a/*"))
    assert exact is not None
    assert long is not None
    assert short is not None
    assert exact > long > short
    assert best(["a/*", "a/model*", "b/*"], "a/model-1") == long


def test_patterns_that_do_not_mean_a_model_have_no_exactness() -> None:
    assert best(["b/*", "c"], "a/model-1") is None
    assert best([], "a/model-1") is None


COOL = {"options": {"temperature": 0.3}, "applies_to": ["x-ai/grok-*"], "tags": ["grok"]}


def test_a_profile_is_read_as_it_stands() -> None:
    profile = SamplingProfile.of("cool", COOL)
    assert profile == SamplingProfile("cool", canonical({"temperature": 0.3}), ("x-ai/grok-*",), ("grok",))
    assert SamplingProfile.of("plain", {}) == SamplingProfile("plain", canonical({}))


def test_a_profile_is_for_the_models_that_it_names_or_for_all() -> None:
    profile = SamplingProfile.of("cool", COOL)
    assert profile.fits("x-ai/Grok-4.1-fast:nitro")
    assert not profile.fits("openai/gpt-5.2")
    assert SamplingProfile.of("plain", {}).fits("openai/gpt-5.2")


def test_a_profile_is_a_patch_of_the_request() -> None:
    base = Preset.of("base", {"request": {"temperature": 1, "top_p": 0.9}})
    merged = base.merged(SamplingProfile.of("cool", COOL).preset)
    assert merged.request == canonical({"temperature": 0.3, "top_p": 0.9})
    assert merged.names == ("base", "cool")


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (3, "sampling.cool: expected a table, got 3"),
        ({"option": {}}, "sampling.cool: there is no key 'option'; did you mean 'options'?"),
        ({"options": 1}, "sampling.cool.options: expected a table, got 1"),
        (
            {"options": {"model": "m"}},
            "sampling.cool.options.model: it is set by the run itself; leave it out",
        ),
        ({"applies_to": "x"}, "sampling.cool.applies_to: expected a list of texts, got 'x'"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused_at_its_place(tree: object, text: str) -> None:
    assert complaint(PlaceError, lambda: SamplingProfile.of("cool", tree)) == text
