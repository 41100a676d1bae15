"""The words that choose models, profiles and strategies."""

from __future__ import annotations

import pytest

from tests.evals_values import CATALOGUE, worked
from toolreel_core._errors import ConfigError
from toolreel_core._plan import SamplingProfile
from toolreel_core.evals import profiles_by_model, select_by_filter, select_models, split_comma_separated

ITEMS = {
    "deepseek/deepseek-v3.2:nitro": ("deepseek/deepseek-v3.2", "deepseek", "ds"),
    "openai/gpt-5.2:nitro": ("openai/gpt-5.2", "openai", "gpt", "stable"),
    "minimax/minimax-m2-her": ("minimax",),
    "Qwen/Qwen3": ("qwen", "Stable"),
}
DEEPSEEK, GPT, MINIMAX, QWEN = ITEMS


def chosen(text: str) -> tuple[str, ...]:
    return select_by_filter(split_comma_separated(text), "model", [*ITEMS], lambda name: (name, *ITEMS[name]))


@pytest.mark.parametrize(("text", "left"), worked("filter"))
def test_what_words_leave(text: str, left: list[str]) -> None:
    assert [*chosen(text)] == left


def test_a_question_mark_or_a_bracket_without_a_star_is_a_letter_like_others() -> None:
    for word in ("a?", "?"):
        assert select_by_filter((word,), "letter", ["a?", "ab"], lambda item: [item]) == ("a?",)


def test_of_an_empty_catalogue_nothing_is_left() -> None:
    with pytest.raises(ConfigError, match="no model is left by an empty catalogue"):
        select_by_filter((), "model", list[str](), lambda name: [name])


def names(profiles: tuple[SamplingProfile, ...]) -> list[str]:
    return [profile.name for profile in profiles]


@pytest.mark.parametrize(("words", "further", "left"), worked("models"))
def test_models_are_chosen_by_name_vendor_and_tag_or_named(
    words: list[str] | None, further: list[str], left: list[str]
) -> None:
    found = select_models(CATALOGUE, None if words is None else tuple(words), tuple(further))
    assert [*found] == left


@pytest.mark.parametrize(("words", "model", "left"), worked("profiles"))
def test_a_model_is_run_with_the_chosen_profiles_that_are_for_it_or_the_default(
    words: list[str], model: str, left: list[str]
) -> None:
    assert names(profiles_by_model(CATALOGUE, tuple(words), [model])[model]) == left


def test_profiles_that_are_for_other_models_can_be_wanted() -> None:
    assert names(profiles_by_model(CATALOGUE, ("hot",), ["b/three"], enforce=False)["b/three"]) == ["hot"]
