"""Modules import each other in one direction; imports for type checkers and inside functions count too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter

from tests.architecture.source import ADAPTERS, DOMAIN, Module, modules

OURS = {module.name: module for package in (DOMAIN, ADAPTERS) for module in modules(package)}


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
