from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel_core._internal.tables import PlaceError
from toolreel_core._jsontext.canonical import canonical
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._plan.presets.sampling import SamplingProfile

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
