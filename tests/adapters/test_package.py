from __future__ import annotations

import ast
from pathlib import Path

import pytest

import toolreel_adapters


def test_every_name_of_the_package_is_loaded_from_where_checkers_see_it() -> None:
    tree = ast.parse(Path(str(toolreel_adapters.__file__)).read_text("utf-8"))
    (block,) = (
        node for node in tree.body if isinstance(node, ast.If) and not isinstance(node.test, ast.UnaryOp)
    )
    seen = {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == sorted(toolreel_adapters.__all__)
    for name, module in seen.items():
        loaded = getattr(toolreel_adapters, name)
        assert loaded.__module__ == module


def test_another_name_is_missing_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'toolreel_adapters' has no attribute 'runs'"):
        getattr(toolreel_adapters, "runs")  # noqa: B009 - a checker would refuse the attribute
