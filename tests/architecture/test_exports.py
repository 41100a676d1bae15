from __future__ import annotations

import importlib
import inspect
import os
import re

import pytest

from tests.architecture.source import ADAPTERS, DOMAIN, ROOT, Module, modules

MODULES = [*modules(DOMAIN), *modules(ADAPTERS)]
PUBLIC = sorted(["toolreel.tools", *(page.stem for page in (ROOT / "docs" / "reference").glob("*.md"))])
"""Every path that may be imported from outside; ``toolreel.tools`` only holds those below it."""
PACKAGES = [module for module in MODULES if module.is_package and module.name in PUBLIC]


def test_only_paths_with_a_page_of_reference_are_public() -> None:
    names = {module.name for module in MODULES if module.name != "toolreel.__main__"}
    assert sorted(name for name in names if "._" not in name) == PUBLIC


def exported(name: str) -> list[str]:
    names = getattr(importlib.import_module(name), "__all__", None)
    assert isinstance(names, list | tuple), f"{name} has no __all__"
    return list(names)


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_all_is_true(package: Module) -> None:
    names = exported(package.name)
    loaded = importlib.import_module(package.name)
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(loaded, name)] == []


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_no_default_is_the_environment(package: Module) -> None:
    """``help()`` prints defaults, and this one with every key and token in it."""
    found = [
        name
        for name, value in callables(package.name).items()
        if any(parameter.default is os.environ for parameter in parameters(value))
    ]
    assert found == []


RESULTS = {"Converted", "Probed", "Replayed", "Results", "Skill"}
"""Values that hold a path, which only functions of ours make."""


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_a_path_may_be_a_text(package: Module) -> None:
    found = [
        f"{name}({parameter})"
        for name, value in callables(package.name).items()
        if name.partition(".")[::2] not in {(result, "__init__") for result in RESULTS}
        and name not in RESULTS
        for parameter in parameters(value)
        if re.search(r"\bPath\b", str(parameter.annotation))
        and not re.search(r"\bstr\b", str(parameter.annotation))
    ]
    assert found == []


def callables(package: str) -> dict[str, object]:
    """The public classes and functions of a package, and the methods of the classes."""
    loaded = importlib.import_module(package)
    names: dict[str, object] = {name: getattr(loaded, name) for name in exported(package)}
    methods: dict[str, object] = {
        f"{name}.{method}": function
        for name, value in names.items()
        if inspect.isclass(value)
        for method, function in inspect.getmembers(value, inspect.isroutine)
    }
    return names | methods


def parameters(function: object) -> list[inspect.Parameter]:
    # Mostly methods of builtins have no signature.
    try:
        return [*inspect.signature(function).parameters.values()] if callable(function) else []
    except ValueError:
        return []
