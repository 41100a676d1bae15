"""Lazy loading of the names of packages, so that an import loads only the modules that it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dis import get_instructions
from importlib import import_module
from types import CodeType
from typing import TypeAlias

Hooks: TypeAlias = tuple[Callable[[str], object], Callable[[], list[str]]]


def lazy_exports(
    package: str, *, instead: Callable[[ImportError], Exception | None] = lambda _: None
) -> Hooks:
    """Hooks of a package that load each of its names from its home when the name is used.

    The names and their homes are the imports for type checkers, ``if TYPE_CHECKING``. They are compiled with
    the rest of the calling module, so they can be read in a program without sources, too.

    :param instead: the error to raise instead of one of a failed import, if any
    """
    # A documented function in spite of its name; pytest's loaders cannot give the code of a module.
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    code, bound = caller.f_code, {*caller.f_globals}
    # Filled at the first use: reading the code of a module takes time.
    homes: dict[str, str] = {}

    def load(name: str) -> object:
        homes.update(homes or _type_checking_imports(code, bound))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if homes[name] == package:  # a module of the package itself, which is not there yet
                return import_module(f"{package}.{name}")
            module = import_module(homes[name])
            return getattr(module, name) if hasattr(module, name) else import_module(f"{homes[name]}.{name}")
        except ImportError as error:
            if better := instead(error):
                raise better from None
            raise

    def listed() -> list[str]:
        homes.update(homes or _type_checking_imports(code, bound))
        return sorted(getattr(sys.modules[package], "__all__", homes))

    return load, listed


def _type_checking_imports(code: CodeType, bound: set[str]) -> Iterator[tuple[str, str]]:
    """Each of our names that a module imports where the import is not run, with its home."""
    home = ""
    for instruction in get_instructions(code):
        name = instruction.argval
        if instruction.opname == "IMPORT_NAME":
            home = name
        elif instruction.opname == "IMPORT_FROM" and home.startswith("toolreel") and name not in bound:
            yield name, home
