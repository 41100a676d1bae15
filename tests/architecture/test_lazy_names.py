"""The packages whose names are loaded when they are first used."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.metadata import version

import pytest

import toolreel
from tests.architecture.source import ADAPTERS, DOMAIN, Module, modules

LAZY = [
    module
    for package in (DOMAIN, ADAPTERS)
    for module in modules(package)
    if module.is_package and "toolreel_core._lazy_names" in module.path.read_text("utf-8")
]


@pytest.mark.parametrize("package", LAZY, ids=str)
def test_a_package_loads_the_names_that_type_checkers_see(package: Module) -> None:
    loaded = import_module(package.name)
    if package.name in {"toolreel", "toolreel_core"}:
        seen = set(loaded.__all__)
    else:
        (types,) = (node.body for node in package.tree.body if isinstance(node, ast.If))
        seen = {alias.name for node in types if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert dir(loaded) == sorted(getattr(loaded, "__all__", seen))
    for name in sorted(seen):
        assert getattr(loaded, name) is not None


@pytest.mark.parametrize("package", LAZY, ids=str)
def test_no_name_is_that_of_a_module_that_would_hide_it(package: Module) -> None:
    hidden = [
        alias.name
        for block in package.tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != package.name
        for alias in node.names
        if (package.path.parent / f"{alias.name}.py").exists()
    ]
    assert hidden == []


def test_any_other_name_is_missing_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'toolreel' has no attribute 'no_such_name'"):
        getattr(toolreel, "no_such_name")  # noqa: B009 - a checker would refuse the attribute


def test_the_package_knows_its_version() -> None:
    assert toolreel.__version__ == version("toolreel")
