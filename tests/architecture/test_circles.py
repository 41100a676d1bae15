"""Modules import each other in one direction: no module reaches itself through others.

Imports for type checkers and inside functions count too, so that no circle hides in them; and nothing
imports a module of ours by its name as text, where no tool would see it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter

from tests.architecture.source import ADAPTERS, DOMAIN, Module, modules

OURS = {module.name: module for package in (DOMAIN, ADAPTERS) for module in modules(package)}
BY_NAME = {
    "toolreel._cli.main": "commands, which groups name in a table, so that --help imports none",
    "toolreel.http._response_reader": "decoders of compressed bodies, packages of others",
    "toolreel.tools._isolated_worker": "the module of a user's tool",
    "toolreel.tools._isolation": "the module of a user's tool",
    "toolreel.tools._json_types": "packages of others: pydantic and msgspec",
    "toolreel.tools._python_tools": "the module of a user's tool",
    "toolreel_core._lazy_names": "the names of a package, when one is first used",
}
"""The modules that import others by name, and which ones."""


def imports(module: Module) -> Iterator[str]:
    """The modules of ours that a module imports, wherever the statement is."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in OURS)
            case ast.ImportFrom(module=str(home), names=names):
                for alias in names:
                    submodule = f"{home}.{alias.name}"
                    yield from {submodule if submodule in OURS else home} & OURS.keys()
            case _:
                pass


def test_no_module_reaches_itself() -> None:
    # Raises CycleError, which names the modules of a circle.
    TopologicalSorter({name: {*imports(module)} for name, module in OURS.items()}).prepare()


def imports_by_name(module: Module) -> bool:
    """Whether a module can import what its statements do not say."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names) if {"importlib", "importlib.util"} & {alias.name for alias in names}:
                return True
            case ast.ImportFrom(module="importlib", names=names):
                return bool({"import_module", "util"} & {alias.name for alias in names})
            case ast.Name(id="__import__"):
                return True
            case _:
                pass
    return False


def test_few_modules_import_others_by_name() -> None:
    assert sorted(name for name, module in OURS.items() if imports_by_name(module)) == sorted(BY_NAME)
