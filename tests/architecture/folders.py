"""The folders of the two packages: what each is for, and which imports which."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.architecture.source import ADAPTERS, DOMAIN, Module, modules

GLUE = {"", "__main__", "_config_checks", "_lazy_names", "_lazy_pattern"}
"""Modules at the top of a package that collect names, or are used everywhere."""


def core_picture() -> str:
    """The folders of the core and their imports, as a Mermaid flow chart."""
    return _picture(_arrows(DOMAIN))


def adapters_picture() -> str:
    """The same for the adapters, without their imports of the core, which all have."""
    return _picture(_arrows(ADAPTERS))


def top_folders() -> str:
    """The folders at the top of both packages, a line each, as a Markdown table."""
    rows = ["| folder | what it is for |", "|---|---|"]
    for package in (DOMAIN, ADAPTERS):
        found = sorted(path.parent for path in package.glob("*/__init__.py"))
        rows += [f"| `{package.name}/{folder.name}` | {_purpose(folder)} |" for folder in found]
    return "\n".join(rows)


def _purpose(folder: Path) -> str:
    """The first sentence of the folder's docstring, on one line."""
    words = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    return " ".join(words.partition("\n\n")[0].split()).replace("``", "`")


def _arrows(package: Path) -> dict[str, set[str]]:
    """The entries at the top of a package, each with the entries that its modules import."""
    arrows: dict[str, set[str]] = {}
    for module in modules(package):
        source = _entry(module.name)
        # A public module at the top, such as `toolreel.errors`, only lists names.
        lists = module.name.count(".") == 1 and not module.is_package and not source.startswith("_")
        if source not in GLUE and not lists:
            targets = {_entry(name) for name in _imports(module) if name.startswith(f"{package.name}.")}
            arrows.setdefault(source, set()).update(targets - {source} - GLUE)
    return arrows


def _imports(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _entry(name: str) -> str:
    """The second part of a dotted name: a folder or a module at the top of its package."""
    return name.split(".")[1] if "." in name else ""


def _picture(arrows: Mapping[str, set[str]]) -> str:
    """Mermaid: an arrow points to what is imported; arrows that follow from others are left out."""
    lines = ["flowchart TD"]
    for source, targets in sorted(arrows.items()):
        implied = set().union(*(_reached(arrows, target) for target in targets))
        direct = sorted(targets - implied)
        if direct:
            lines.append(f"    {source} --> {' & '.join(direct)}")
    return "\n".join(lines)


def _reached(arrows: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that an entry imports, directly or not."""
    reached: set[str] = set()
    queue = [*arrows[start]]
    while queue:
        entry = queue.pop()
        if entry not in reached:
            reached.add(entry)
            queue += arrows[entry]
    return reached
