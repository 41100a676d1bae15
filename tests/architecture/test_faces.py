"""Across the border of a package, only its face is imported: what its ``__init__`` names.

A package is the first folder below ``toolreel_core`` or ``toolreel``; the sources of tools in
``toolreel.tools`` are packages of their own. Behind its face, everything can move without a change elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ADAPTERS, DOMAIN, ROOT, modules

OURS = {module.name: module for package in (DOMAIN, ADAPTERS) for module in modules(package)}
ROOTS = {"toolreel_core", "toolreel"}
TOPS = ("domain", "adapters", "tests", "examples", "benchmarks", "docs")
SEPARATE = {"toolreel.tools.mcp", "toolreel.tools.openapi", "toolreel.tools.skills"}
LOADER = "toolreel_core._lazy_names"
"""What the faces themselves are made with."""
PATCHED = {
    "tests/adapters/cassette/test_yaml.py": {"toolreel.cassette._yaml"},
    "tests/adapters/http/test_transport_pool.py": {"toolreel.http._transport_pool"},
    "tests/adapters/internal/test_errors.py": {
        "toolreel._internal.errors",
    },
    "tests/adapters/internal/test_safe_yaml.py": {"toolreel._internal.safe_yaml"},
    "tests/docs/codes_tables.py": {"toolreel_core._tools.results"},
    "tests/domain/loop/test_reducer.py": {"toolreel_core._settings.transforms"},
    "tests/domain/probe/test_verdict.py": {"toolreel_core._probe.verdict"},
    "tests/domain/tools/test_results.py": {"toolreel_core._tools.results"},
    "tests/domain/settings/test_transforms.py": {"toolreel_core._settings.transforms"},
    "tests/wire_forms.py": {"toolreel_core._loop.reducer"},
}
"""Modules that a test of their package imports whole, mostly to replace something in them."""


def border(module: str) -> str:
    """The package that a module is private to."""
    parts = module.split(".")
    inner = ".".join(parts[:3])
    return inner if inner in SEPARATE else ".".join(parts[:2])


def face(module: str) -> str:
    """What others import instead of a module: the innermost package with a public path, else the package."""
    found, parts = border(module), module.split(".")
    for length in range(3, len(parts) + 1):
        path = ".".join(parts[:length])
        if path in OURS and OURS[path].is_package and "._" not in path:
            found = path
    return found


def files(*tops: str) -> Iterator[tuple[str, Path]]:
    """Every Python file, with the package that it belongs to; files outside the product belong to none."""
    names = {module.path: name for name, module in OURS.items()}
    for top in tops:
        for path in sorted((ROOT / top).rglob("*.py")):
            yield border(names[path]) if path in names else "", path


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Module and name of each import from our packages, wherever the statement is."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] in ROOTS:
                yield from ((module, alias.name) for alias in names)
            case ast.Import(names=names):
                yield from ((alias.name, "") for alias in names if alias.name.partition(".")[0] in ROOTS)
            case _:
                pass


def named_by(package: str) -> set[str]:
    """What a face names, or what has a face of its own in the package."""
    found = {
        alias.asname or alias.name
        for node in ast.walk(OURS[package].tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    inner = {name.removeprefix(f"{package}.") for name in OURS if name.rpartition(".")[0] == package}
    return found | {name for name in inner if face(f"{package}.{name}") == f"{package}.{name}"}


NAMED = {name: named_by(name) for name in OURS if OURS[name].is_package and face(name) == name}


def is_free(mine: str, path: Path, module: str, name: str) -> bool:
    """Whether an import crosses no border, or goes around the face with a reason."""
    whole = f"{module}.{name}" if name else module
    if whole in OURS:
        here = path.relative_to(ROOT).as_posix()
        return border(whole) == mine or face(whole) == whole or whole in PATCHED.get(here, ())
    at_the_top = module in ROOTS or (module.count(".") == 1 and not OURS[module].is_package)
    return border(module) == mine or at_the_top or module == LOADER


@pytest.mark.parametrize("top", TOPS)
def test_imports_from_another_package_are_of_its_face(top: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: from {module} import {name}"
        for mine, path in files(top)
        for module, name in imported(path)
        if not is_free(mine, path, module, name) and (module != face(module) or name not in NAMED[module])
    ]
    assert wrong == []
