"""The packages whose names are loaded when they are first used."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.metadata import version

import pytest

import toolreel
from tests.architecture.source import ADAPTERS, Module, modules

LAZY = [
    module
    for module in modules(ADAPTERS)
    if module.is_package and "toolreel._internal.lazy" in module.path.read_text("utf-8")
]


@pytest.mark.parametrize("package", LAZY, ids=str)
def test_a_package_loads_the_names_that_type_checkers_see(package: Module) -> None:
    loaded = import_module(package.name)
    if package.name == "toolreel":
        seen = set(loaded.__all__)
    else:
        (types,) = (node.body for node in package.tree.body if isinstance(node, ast.If))
        seen = {alias.name for node in types if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert dir(loaded) == sorted(getattr(loaded, "__all__", seen))
    for name in sorted(seen):
        assert getattr(loaded, name) is not None


@pytest.mark.parametrize("package", LAZY, ids=str)
def test_any_other_name_is_missing_as_in_any_module(package: Module) -> None:
    with pytest.raises(AttributeError, match=rf"module '{package.name}' has no attribute 'no_such_name'"):
        getattr(import_module(package.name), "no_such_name")  # noqa: B009 - a checker would refuse the attribute


def test_the_package_knows_its_version() -> None:
    assert toolreel.__version__ == version("toolreel")
