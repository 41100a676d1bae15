"""A module is one idea that a reader opens, a folder is several of them, and each package has tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import ADAPTERS, DOMAIN, ROOT, modules

LONGEST = 700
"""Lines of a module, with its docstrings and comments."""
FEWEST = 4
"""Modules of a folder below a package, besides ``__init__``; fewer are one module, or lie in the package."""
CAPABILITIES = {
    "toolreel/tools/mcp": "servers of tools: a public path with an extra of its own",
    "toolreel/tools/skills": "Agent Skills: a public path with an extra of its own",
}
"""Folders that may have fewer, since each is a capability with its own tests, and why it is one."""


def packages() -> Iterator[tuple[Path, Path]]:
    """Each package with the folder of its tests."""
    for root, tests in ((DOMAIN, "domain"), (ADAPTERS, "adapters")):
        for path in sorted(root.glob("*/__init__.py")):
            yield path.parent, ROOT / "tests" / tests / path.parent.name.lstrip("_")


def test_no_module_is_too_long() -> None:
    lines = {
        module.name: len(module.path.read_text("utf-8").splitlines())
        for root in (DOMAIN, ADAPTERS)
        for module in modules(root)
    }
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


def test_no_folder_below_a_package_is_a_fragment() -> None:
    fragments = {}
    for package, _ in packages():
        for init in sorted(package.rglob("__init__.py")):
            folder = init.parent
            count = sum(path.name != "__init__.py" for path in folder.rglob("*.py"))
            name = f"{package.parent.name}/{folder.relative_to(package.parent).as_posix()}"
            if folder != package and count < FEWEST and name not in CAPABILITIES:
                fragments[name] = count
    assert fragments == {}


def test_every_package_of_the_core_has_tests() -> None:
    missing = [
        package.name for package, tests in packages() if package.parent == DOMAIN and not tests.is_dir()
    ]
    assert missing == []


def test_every_folder_of_tests_is_that_of_a_package() -> None:
    known = {tests for _, tests in packages()}
    strange = [
        folder.relative_to(ROOT).as_posix()
        for side in ("domain", "adapters")
        for folder in sorted((ROOT / "tests" / side).iterdir())
        if any(folder.glob("test_*.py")) and folder not in known
    ]
    assert strange == []
