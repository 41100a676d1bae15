"""The two packages whose names are loaded when they are asked for say three times which names these are."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import toolreel
import toolreel_core

PACKAGES = pytest.mark.parametrize("package", [toolreel, toolreel], ids=lambda each: each.__name__)


@PACKAGES
def test_every_name_of_a_package_is_loaded_from_where_checkers_see_it(package: ModuleType) -> None:
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    (block,) = (
        node for node in tree.body if isinstance(node, ast.If) and not isinstance(node.test, ast.UnaryOp)
    )
    seen = {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == sorted(package.__all__)
    homes = {name: f"{package.__name__}.{home}" for name, home in package._HOMES.items()}
    assert homes == seen
    for name, module in seen.items():
        assert getattr(package, name) is getattr(import_module(module), name)


@PACKAGES
def test_a_package_lists_its_names_before_they_are_loaded(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))


@PACKAGES
def test_another_name_is_missing_as_in_any_module(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=rf"module '{package.__name__}' has no attribute 'runs'"):
        getattr(package, "runs")  # noqa: B009 - a checker would refuse the attribute
