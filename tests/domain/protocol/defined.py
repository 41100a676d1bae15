"""What a module of the protocol defines."""

from __future__ import annotations

from dataclasses import is_dataclass
from types import ModuleType

__all__ = ["dataclasses_in"]


def dataclasses_in(module: ModuleType) -> set[object]:
    """The public dataclasses that a module defines itself."""
    return {
        value
        for name, value in vars(module).items()
        if is_dataclass(value) and not name.startswith("_") and value.__module__ == module.__name__
    }
