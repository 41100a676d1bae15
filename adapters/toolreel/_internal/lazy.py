"""Lazy loading of the names of packages, so that ``import toolreel`` and ``toolreel --help`` stay fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dis import get_instructions
from importlib import import_module
from types import CodeType
from typing import TypeAlias

Hooks: TypeAlias = tuple[Callable[[str], object], Callable[[], list[str]]]
"""``__getattr__`` and ``__dir__`` of a module."""


def face(package: str, *, extra: str = "") -> Hooks:
    """Hooks of a package that load each of its names from its home when the name is used.

    The names and their homes are the imports for type checkers, ``if TYPE_CHECKING``. They are compiled with
    the rest of the calling module, so they can be read in a program without sources, too.

    :param extra: the extra that installs all that the package needs, for the error where something is missing
    """
    # A documented function in spite of its name; pytest's loaders cannot give the code of a module.
    code = sys._getframe(1).f_code  # pyright: ignore[reportPrivateUsage]
    homes: dict[str, str] = {}

    def load(name: str) -> object:
        homes.update(homes or _imported(code))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if homes[name] == package:  # a module of the package itself, which is not there yet
                return import_module(f"{package}.{name}")
            module = import_module(homes[name])
            return getattr(module, name) if hasattr(module, name) else import_module(f"{homes[name]}.{name}")
        except ImportError as error:
            from toolreel._internal.errors import MissingExtra

            # Modules that several packages share name an extra that may be only a part of this one's.
            if extra and isinstance(error, MissingExtra | ModuleNotFoundError):
                raise MissingExtra.of(extra, str(error.name).partition(".")[0]) from None
            raise

    def listed() -> list[str]:
        homes.update(homes or _imported(code))
        return sorted(getattr(sys.modules[package], "__all__", homes))

    return load, listed


def _imported(code: CodeType) -> Iterator[tuple[str, str]]:
    """Each of our names that a module imports, with its home; also where the import is not run."""
    home = ""
    for instruction in get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            home = instruction.argval
        elif instruction.opname == "IMPORT_FROM" and home.startswith("toolreel") and home != __name__:
            yield instruction.argval, home
