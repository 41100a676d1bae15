"""The packages whose names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version

import pytest

import toolreel
from tests.architecture.source import ADAPTERS, modules

LAZY = [module.name.removesuffix("._public") for module in modules(ADAPTERS) if module.path.stem == "_public"]


@pytest.mark.parametrize("name", LAZY)
def test_a_package_has_the_names_that_its_list_defines(name: str) -> None:
    package, public = import_module(name), import_module(f"{name}._public")
    assert package.__all__ is public.__all__
    assert dir(package) == sorted(package.__all__)
    for each in package.__all__:
        assert getattr(package, each) is getattr(public, each)


@pytest.mark.parametrize("name", LAZY)
def test_any_other_name_is_missing_as_in_any_module(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"module '{name}' has no attribute 'runs'"):
        getattr(import_module(name), "runs")  # noqa: B009 - a checker would refuse the attribute


def test_the_package_knows_its_version() -> None:
    assert toolreel.__version__ == version("toolreel")
