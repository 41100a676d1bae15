from __future__ import annotations

import pytest

from toolreel_core._plan.presets.model_names import bare, best, means


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
