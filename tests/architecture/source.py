"""Where the code lies, and which modules it consists of."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = ROOT / "domain" / "toolreel_core"
ADAPTERS = ROOT / "adapters" / "toolreel"


@dataclass(frozen=True, slots=True)
class Module:
    """One module of a package."""

    name: str
    """As it is imported, such as ``toolreel_core._loop.reducer``."""
    path: Path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"), filename=str(self.path))

    def __str__(self) -> str:
        return self.name


def modules(package: Path) -> list[Module]:
    """All modules of a package and of its subpackages, by name."""
    found = []
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found.append(Module(".".join(part for part in parts if part != "__init__"), path))
    return sorted(found, key=str)
