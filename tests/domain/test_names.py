from __future__ import annotations

import copy
from types import ModuleType

import pytest

import toolreel_core
from toolreel_core import (
    _public,
    catalogues,
    codec,
    content,
    outcomes,
    phases,
    replies,
    tools,
    transforms,
)
from toolreel_core._lazy_pattern import lazy_pattern


def test_the_public_names_are_loaded_when_they_are_used() -> None:
    assert "step" in dir(toolreel_core)
    assert all(getattr(toolreel_core, name) is not None for name in dir(toolreel_core))


@pytest.mark.parametrize(
    "module", [catalogues, codec, content, outcomes, phases, replies, tools, transforms], ids=str
)
def test_each_module_has_what_it_lists(module: ModuleType) -> None:
    names = set(vars(module)["__all__"])
    assert names <= vars(module).keys()
    assert not names & set(dir(toolreel_core))


@pytest.mark.parametrize("module", [toolreel_core, _public])
@pytest.mark.parametrize("name", ["no_such_name", "_no_such_module"])
def test_another_name_is_an_error(module: ModuleType, name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(module, name)


def test_a_pattern_can_be_copied_before_its_first_use() -> None:
    assert copy.copy(lazy_pattern("a+")).fullmatch("aa")
