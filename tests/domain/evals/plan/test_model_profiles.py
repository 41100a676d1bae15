from __future__ import annotations

import pytest

from tests.evals_values import CATALOGUE
from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import NOTHING
from toolreel_core._plan.presets.collection import SamplingProfile
from toolreel_core.evals._plan.model_profiles import (
    applies,
    auto_profile,
    profiles_for,
    select_models,
    select_profiles,
)


def names(profiles: tuple[SamplingProfile, ...]) -> list[str]:
    return [profile.name for profile in profiles]


@pytest.mark.parametrize(
    ("words", "further", "left"),
    [
        (None, (), ("a/one:fast", "b/three")),
        ((), (), ("a/one:fast", "a/two", "b/three")),
        (("a",), (), ("a/one:fast", "a/two")),
        (("a/one",), (), ("a/one:fast",)),
        (None, ("mine",), ("mine",)),
        (("b",), ("mine", "b/three"), ("b/three", "mine")),
    ],
)
def test_models_are_chosen_by_name_vendor_and_tag_or_named(
    words: tuple[str, ...] | None, further: tuple[str, ...], left: tuple[str, ...]
) -> None:
    assert select_models(CATALOGUE, words, further) == left


def test_a_family_is_no_model_to_run() -> None:
    assert "there is no model 'family'" in complaint(
        ConfigError, lambda: select_models(CATALOGUE, ("family",), ())
    )


def test_profiles_are_chosen_by_name_and_tag() -> None:
    assert names(select_profiles(CATALOGUE, ("creative", "default"))) == ["default", "hot"]
    assert names(select_profiles(CATALOGUE, ("auto", "hot"))) == ["hot"]
    assert names(select_profiles(CATALOGUE, ("Auto",))) == []
    assert names(select_profiles(CATALOGUE, ())) == ["default", "one_recommended", "hot"]


def test_there_is_nothing_to_take_from_what_auto_chooses() -> None:
    said = complaint(ConfigError, lambda: select_profiles(CATALOGUE, ("auto", "!hot")))
    assert said == "!hot takes nothing from auto; leave it out"


def test_a_model_is_run_with_the_profiles_that_are_for_it_or_the_default() -> None:
    everything = select_profiles(CATALOGUE, ())
    hot = select_profiles(CATALOGUE, ("hot",))
    assert names(profiles_for(CATALOGUE, "a/two", everything)) == ["default", "hot"]
    assert names(profiles_for(CATALOGUE, "b/three", hot)) == ["default"]
    assert names(profiles_for(CATALOGUE, "b/three", hot, enforce=False)) == ["hot"]


def test_auto_is_the_first_that_is_recommended_for_a_model_or_the_default() -> None:
    assert auto_profile(CATALOGUE, "a/one:fast").name == "one_recommended"
    assert auto_profile(CATALOGUE, "b/three").name == "default"
    hot = select_profiles(CATALOGUE, ("hot",))
    assert names(profiles_for(CATALOGUE, "a/one:fast", hot, auto=True)) == ["one_recommended", "hot"]
    assert names(profiles_for(CATALOGUE, "b/three", (), auto=True)) == ["default"]


def test_a_profile_applies_letter_for_letter() -> None:
    profile = SamplingProfile("p", NOTHING, ("a/one*",))
    assert applies(profile, "a/one:fast")
    assert not applies(profile, "A/One:fast")
    assert applies(SamplingProfile("p", NOTHING), "whatever")
